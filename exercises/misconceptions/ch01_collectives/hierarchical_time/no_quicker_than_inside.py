"""Lets the links inside have a say in the phase across."""

EARNS = "does not pass through the links inside"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    share = min(inside, cards * card / per_node)
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * (n / per_node) / share
