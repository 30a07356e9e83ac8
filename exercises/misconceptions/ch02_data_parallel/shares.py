"""Wrong answers to `shares`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

MORE = "np.argsort(ends, axis=None)[:left] // left"

WRONG = [
    edit(
        "each_rounded",
        "If each share is rounded by itself",
        "return given",
        "return [round(batch * v / sum(speeds)) for v in speeds]",
    ),
    edit("fractions", "Samples come whole", "return given", "return [batch * speed / sum(speeds) for speed in speeds]"),
    edit(
        "equal",
        "Equal shares",
        "return given",
        "return [batch // len(speeds) + (r < batch % len(speeds)) for r in range(len(speeds))]",
    ),
    edit("rest_to_the_fastest", "went to one rank", MORE, "np.full(left, np.argmax(speeds))", of="again"),
    edit("rest_to_the_first", "The first ranks have one more each", MORE, "np.arange(left)", of="again"),
    edit(
        "largest_remainders",
        "went to those who lost most by rounding down",
        MORE,
        "np.argsort(given - np.array(speeds) * batch / sum(speeds))[:left]",
        of="again",
    ),
    edit(
        "one_sample_late",
        "who would be through with one more?",
        "(1 / speed, rank)",
        "(0.0, rank)",
        "((given[rank] + 1) / speeds",
        "(given[rank] / speeds",
    ),
    edit(
        "seconds_for_speeds",
        "Speed is samples per second",
        "given = np.array(speeds) * batch // sum(speeds)",
        """
        speeds = [1 / speed for speed in speeds]
        given = np.array(speeds) * batch // sum(speeds)
        """,
        of="again",
    ),
    edit(
        "looks_at_all",
        "it takes too long to look at every rank",
        "_, rank = heap[0]",
        "rank = min(range(len(speeds)), key=lambda r: (given[r] + 1) / speeds[r])",
    ),
    whole(
        "all_possibilities",
        "too many ways to share a batch",
        """
        def shares(speeds, batch):
            def ways(ranks, left):
                if ranks == 1:
                    yield [left]
                    return
                for share in range(left + 1):
                    yield from ([share, *rest] for rest in ways(ranks - 1, left - share))

            return min(ways(len(speeds), batch), key=lambda way: max(s / v for s, v in zip(way, speeds)))
        """,
    ),
]
