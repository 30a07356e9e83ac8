"""Takes the longer of the two."""

EARNS = "You took the longer of the two"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return max(2 * (per_node - 1) / per_node * n / inside, 2 * (nodes - 1) / nodes * n / (cards * card))
