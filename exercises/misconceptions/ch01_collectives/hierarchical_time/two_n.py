"""The limit for many ranks."""

EARNS = "a ring of very many ranks would send"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * n / inside + 2 * n / (cards * card)
