"""Wrong answers to `choose_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "hidden_by_backward",
        "the shorter of the two",
        """
        def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
            best = None
            for m in range(1, batch + 1):
                if batch % m:
                    continue
                b = batch // m
                f = fixed + b * slope
                if alpha + b * beta > 2 * f:
                    continue
                if weights + min(p, m) * b * kept > memory:
                    continue
                t = (m + p - 1) * 3 * f
                if best is None or t < best[0]:
                    best = t, m
            return best and best[1]
        """,
    ),
    edit("always_p", "only where there are as many", "min(m, p)", "p"),
    edit("any_m", "It must be cut into micro-batches of equal size", "batch % m == 0 and alpha", "alpha"),
    edit(
        "at_least_p", "There may be fewer micro-batches than ranks", "(1,", "(p,", "2 * f", "f", of="hidden_by_backward"
    ),
    edit(
        "bandwidth_of_the_step",
        "All messages of a step together fit into it",
        "if batch % m == 0 and alpha + b * beta <= forward and weights + min(m, p) * b * kept <= memory:",
        """
        if (
            batch % m == 0
            and 2 * m * (alpha + b * beta) <= 3 * (m + p - 1) * forward
            and weights + min(m, p) * b * kept <= memory
        ):
        """,
    ),
    whole(
        "formula",
        "the best m if any number would do",
        """
        def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
            root, best = math.sqrt((p - 1) * batch * slope / fixed), None
            for m in range(1, batch + 1):
                b = batch // m
                hidden = alpha + b * beta <= fixed + b * slope
                if batch % m == 0 and hidden and weights + min(m, p) * b * kept <= memory:
                    best = min(best or (math.inf, 0), (abs(m - root), m))
            return best and best[1]
        """,
    ),
    edit("four_p", "That may be many too many", "(1,", "(4 * p,"),
    edit("gpipe_memory", "All m micro-batches are kept, as in GPipe", "min(m, p)", "m"),
    edit("hidden_by_both", "and not as long as forward and backward together", "= forward and", "= 3 * forward and"),
    whole(
        "largest_of_equals",
        "Two are equally quick",
        """
        def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
            best = None
            for m in range(1, batch + 1):
                b = batch // m
                forward = fixed + b * slope
                if batch % m == 0 and alpha + b * beta <= forward and weights + min(m, p) * b * kept <= memory:
                    best = min(best or (math.inf,), ((m + p - 1) * forward, -m))
            return best and -best[1]
        """,
    ),
    edit(
        "less_than_the_memory",
        "to the last byte",
        "2 * f",
        "f",
        "kept > memory",
        "kept >= memory",
        of="hidden_by_backward",
    ),
    edit(
        "link_does_not_count",
        "The messages are not hidden",
        "and alpha + b * beta <= forward and weights",
        "and weights",
    ),
    edit(
        "memory_does_not_count",
        "how many micro-batches are kept at a time?",
        "forward and weights + min(m, p) * b * kept <= memory:",
        "forward:",
    ),
    whole(
        "most_that_fit",
        "but an activation of what",
        """
        def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
            fitting = [m for m in range(1, batch + 1) if batch % m == 0 and m * kept <= memory - weights]
            return max(fitting, default=None)
        """,
    ),
    edit("no_bubble", "Without the bubble the fewest", "(m + p - 1)", "m"),
    edit("no_fixed_costs", "The most micro-batches that will do", "forward,", "b * slope,"),
    edit("no_latency", "The latency alpha does not count here", "and alpha + b", "and b"),
    edit("no_weights", "The weights need room as well", "weights + min", "min"),
    edit("one_pass_more", "m + p passes are one too many", "p - 1", "p"),
    edit("returns_b", "That is b, the samples of a micro-batch", "and best[", "and batch // best["),
    edit("room_for_one", "There is room for one micro-batch", "min(m, p) * b", "b"),
    edit("shorter_than_a_pass", "just as long as a forward pass is hidden", "> 2 * f", ">= f", of="hidden_by_backward"),
]
