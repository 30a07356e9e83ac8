"""Halves `inside`, because NVLink is sold as the sum of both directions."""

EARNS = "Inside the machine it is twice"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / (inside / 2) + 2 * (nodes - 1) / nodes * n / (cards * card)
