"""The factor of a machine of 8 ranks, for all machines."""

EARNS = "The factor 7 / 8 belongs to 8 ranks"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * 7 / 8 * n / inside + 2 * (nodes - 1) / nodes * n / (cards * card)
