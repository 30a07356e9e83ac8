"""Gives each rank the machine's whole bandwidth: 31 ms in the example."""

EARNS = "the whole machine's cards to itself"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * n / (cards * card) / per_node
