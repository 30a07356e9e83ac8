"""Wrong answers to `ring_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_orders",
        "there is no time to try all orders",
        """
        import itertools


        def ring_order(seconds):
            P = len(seconds)
            orders = ([0, *rest] for rest in itertools.permutations(range(1, P)))
            return min(orders, key=lambda order: sum(seconds[order[i - 1], order[i]] for i in range(P)))
        """,
    ),
    edit("comes_back", "The way back to the first rank is understood", "return order", "return [*order, order[0]]"),
    whole(
        "in_order",
        "Every time costs a long hop",
        """
        def ring_order(seconds):
            return list(range(len(seconds)))
        """,
    ),
    whole(
        "marks_in_its_argument",
        "The caller still needs its seconds",
        """
        def ring_order(seconds):
            order = [0]
            np.fill_diagonal(seconds, np.inf)
            while len(order) < len(seconds):
                seconds[:, order[-1]] = np.inf
                order.append(int(np.argmin(seconds[order[-1]])))
            return order
        """,
    ),
    whole(
        "matrix",
        "It should return a list of the numbers",
        """
        def ring_order(seconds):
            order = np.argsort(seconds[0])
            return seconds[order][:, order]
        """,
    ),
    whole(
        "nearest_again_and_again",
        "Who is still free?",
        """
        def ring_order(seconds):
            order = [0]
            while len(order) < len(seconds):
                here = order[-1]
                others = [rank for rank in range(len(seconds)) if rank != here]
                order.append(min(others, key=lambda rank: seconds[here, rank]))
            return order
        """,
    ),
    edit(
        "places", "Your list says at which place each rank stands", "return order", "return np.argsort(order).tolist()"
    ),
    whole(
        "sorted_from_rank_0",
        "They are sorted by their way from",
        """
        def ring_order(seconds):
            return np.argsort(seconds[0], kind="stable").tolist()
        """,
    ),
    whole(
        "two_levels_only",
        "The nearest ranks stand together, but look one level up",
        """
        def ring_order(seconds):
            P = len(seconds)
            if P == 1:
                return [0]
            near = seconds[seconds > 0].min()
            order = []
            for rank in range(P):
                if rank not in order:
                    order += [other for other in range(P) if seconds[rank, other] <= near]
            return order
        """,
    ),
]
