"""Wrong answers to `hierarchical_time`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "two_n",
        "a ring of very many ranks would send",
        """
        def hierarchical_time(nodes, per_node, n, inside, card, cards):
            return 2 * n / inside + 2 * n / (cards * card)
        """,
    ),
    whole(
        "all_ranks_across",
        "Your ring across the machines has all ranks in it",
        """
        def hierarchical_time(nodes, per_node, n, inside, card, cards):
            ranks = nodes * per_node
            return 2 * (per_node - 1) / per_node * n / inside + 2 * (ranks - 1) / ranks * n / (cards * card)
        """,
    ),
    whole(
        "machines_divided_twice",
        "It is the number of machines already",
        """
        def hierarchical_time(nodes, per_node, n, inside, card, cards):
            groups = nodes / per_node
            return 2 * (per_node - 1) / per_node * n / inside + 2 * (groups - 1) / groups * n / (cards * card)
        """,
    ),
    edit(
        "seven_eighths",
        "The factor 7 / 8 belongs to 8 ranks",
        "n / inside + 2",
        "7 / 8 * n / inside + 2 * (nodes - 1) / nodes",
        of="two_n",
    ),
]
