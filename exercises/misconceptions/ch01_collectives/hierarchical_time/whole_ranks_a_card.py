"""Gives each card a whole number of ranks."""

EARNS = "All cards are used evenly, also where"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    share = card / (per_node // cards)
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * (n / per_node) / share
