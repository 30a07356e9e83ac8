"""Wrong answers to `partition`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_cuts",
        "answer each once",
        """
        import itertools


        def partition(seconds, p):
            ways = [[0, *cuts, len(seconds)] for cuts in itertools.combinations(range(1, len(seconds)), p - 1)]
            best = min(ways, key=lambda ends: max(sum(seconds[a:b]) for a, b in itertools.pairwise(ends)))
            return [b - a for a, b in itertools.pairwise(best)]
        """,
    ),
    edit("empty_stages", "A stage without layers does nothing", "if k < i", "if k <= i", "range(r, N", "range(0, N"),
    edit("fewer_stages", "Fewer stages may be as fast", "range(p - len(sizes))", "range(0)", of="again"),
    edit("only_the_cuts", "p stages have p - 1 cuts", "[1]", "[1][:-1]"),
    edit(
        "nearly_the_least",
        "the smallest maximum there is, to the microsecond",
        "sizes = filled(bounds.start + bisect.bisect_left(bounds, True, key=lambda bound: len(filled(bound)) <= p))",
        """
        low, high = max(seconds) - 1, sum(seconds)
        while high > 1.001 * low:
            middle = (low + high) / 2
            low, high = (low, middle) if len(filled(middle)) <= p else (middle, high)
        sizes = filled(high)
        """,
        of="again",
    ),
    edit("the_seconds", "Return a list of p whole numbers", "[1]", "[0]"),
    edit(
        "where_they_end",
        "These are the places where stages end",
        "return best[N][1]",
        "return np.cumsum(best[N][1])",
    ),
]
