"""Gives each rank a card of its own."""

EARNS = "How many ranks share a card here?"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * (n / per_node) / card
