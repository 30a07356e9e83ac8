"""In milliseconds."""

EARNS = "please, not milliseconds"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 1000 * (2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * n / (cards * card))
