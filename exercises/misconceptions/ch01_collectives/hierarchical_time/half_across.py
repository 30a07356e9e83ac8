"""Forgets that an all-reduce has two halves."""

EARNS = "Across the machines it is half"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / inside + (nodes - 1) / nodes * n / (cards * card)
