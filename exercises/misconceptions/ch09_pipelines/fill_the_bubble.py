"""Wrong answers to `fill_the_bubble`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "one_put_off",
        "so that they just fill the wait in the end",
        """
        def fill_the_bubble(p, m):
            orders = []
            for r in range(p):
                ahead, late = p - 1 - r, min(r, 1)
                order = [f"F{i}" for i in range(ahead)]
                for i in range(m):
                    order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - late}"] * (i >= late)
                orders.append(order + [f"W{i}" for i in range(m - late, m)])
            return orders
        """,
    ),
    whole(
        "all_in_the_end",
        "All W come in the end",
        """
        def fill_the_bubble(p, m):
            orders = []
            for r in range(p):
                ahead = p - 1 - r
                order = [f"F{i}" for i in range(ahead)]
                for i in range(m):
                    order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"]
                orders.append(order + [f"W{i}" for i in range(m)])
            return orders
        """,
    ),
    whole(
        "all_put_off",
        "so how many W may it be behind with",
        """
        def fill_the_bubble(p, m):
            orders = []
            for r in range(p):
                ahead = p - 1 - r
                order = [f"F{i}" for i in range(ahead)]
                for i in range(m):
                    order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - p + 1}"] * (i >= p - 1)
                orders.append(order + [f"W{i}" for i in range(m - p + 1, m)])
            return orders
        """,
    ),
    edit("before_i", "W after I", 'I{i}"] + [f"W{i - r}"] * (i >= r)', 'W{i - r}"] * (i >= r) + [f"I{i}"]'),
    whole(
        "directly_after",
        "that is B in two words",
        """
        def fill_the_bubble(p, m):
            orders = []
            for r in range(p):
                ahead = p - 1 - r
                order = [f"F{i}" for i in range(ahead)]
                for i in range(m):
                    order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i}"]
                orders.append(order)
            return orders
        """,
    ),
    edit(
        "first_rank_puts_off",
        "The wrong way round: the first rank keeps most",
        "min(r, 1)",
        "p - 1 - r",
        of="one_put_off",
    ),
    edit(
        "forgotten",
        "What is put off must be done before the order ends",
        'order + [f"W{i}" for i in range(m - r, m)])',
        "order)",
    ),
    edit("longer_warmup", "for twice the memory", "p - 1 - r", "min(2 * (p - 1 - r), m)"),
    edit("one_order", "one for each rank", "return orders", "return orders[0]"),
    edit("shorter_warmup", "The order of F and I is not 1F1B's", "p - 1 - r", "0"),
]
