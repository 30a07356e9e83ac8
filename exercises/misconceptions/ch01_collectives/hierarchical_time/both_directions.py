"""Takes the 600 GB/s of the box."""

EARNS = "Inside the machine it is half of what it should be"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / (2 * inside) + 2 * (nodes - 1) / nodes * n / (cards * card)
