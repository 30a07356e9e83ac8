"""Every rank sends all n bytes across."""

EARNS = "Every rank seems to send all n bytes"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * n / (cards * card / per_node)
