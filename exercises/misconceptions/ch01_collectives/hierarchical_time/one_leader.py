"""One rank of each machine sends all, through one card: 1,992 ms in the example."""

EARNS = "as if one leader sent for all"


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    return 2 * (per_node - 1) / per_node * n / inside + 2 * (nodes - 1) / nodes * n / card
