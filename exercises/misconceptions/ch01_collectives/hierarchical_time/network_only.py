"""NVLink is so quick that it does not count."""

EARNS = "quick, not free"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (nodes - 1) / nodes * n / (cards * card)
