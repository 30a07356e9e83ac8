"""The textbook's: divides machines by GPUs a machine, which gives 32 for 256."""

EARNS = "It is the number of machines already"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    groups = nodes / per_node
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (groups - 1) / groups * n / (cards * card)
