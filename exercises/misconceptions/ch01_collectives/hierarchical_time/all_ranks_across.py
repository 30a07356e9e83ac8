"""A ring of all ranks across the machines."""

EARNS = "Your ring across the machines has all ranks in it"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    ranks = nodes * per_node
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (ranks - 1) / ranks * n / (cards * card)
