"""One ring over all ranks, through the cards."""

EARNS = "one ring over all ranks, which knows nothing"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    ranks = nodes * per_node
    return 2 * (ranks - 1) / ranks * n / (cards * card)
