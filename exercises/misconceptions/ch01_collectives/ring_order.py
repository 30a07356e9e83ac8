"""Wrong answers to `ring_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

RESULT = "return order"

WRONG = [
    edit("comes_back", "The way back to the first rank is understood", RESULT, "return [*order, order[0]]"),
    edit("in_order", "Every time costs a long hop", RESULT, "return sorted(order)"),
    edit("marks_in_its_argument", "The caller still needs its seconds", RESULT, f"seconds[:] = 0\n{RESULT}"),
    edit("matrix", "It should return a list of the numbers", RESULT, "return seconds[order][:, order]"),
    edit(
        "nearest_again_and_again",
        "Who is still free?",
        *("min(left", "min(set(range(len(seconds))) - {order[-1]}", "left.remove(order[-1])", "left.pop()"),
    ),
    edit("places", "Your list says at which place each rank stands", RESULT, "return np.argsort(order).tolist()"),
    edit("sorted_from_rank_0", "They are sorted by their way from", "seconds[order[-1], rank]", "seconds[0, rank]"),
    whole(
        "all_orders",
        "there is no time to try all orders",
        """
        from itertools import permutations


        def ring_order(seconds):
            P = len(seconds)
            orders = ([0, *rest] for rest in permutations(range(1, P)))
            return min(orders, key=lambda order: sum(seconds[order[i - 1], order[i]] for i in range(P)))
        """,
    ),
    whole(
        "two_levels_only",
        "The nearest ranks stand together, but look one level up",
        """
        def ring_order(seconds):
            near, order = seconds[seconds > 0].min(initial=1), []
            for row in seconds:
                order += [rank for rank in np.flatnonzero(row <= near) if rank not in order]
            return order
        """,
    ),
    edit(
        "whole_milliseconds",
        "Every time costs a long hop",
        "seconds[order[-1], rank]",
        "int(1000 * seconds[order[-1], rank])",
    ),
]
