"""Wrong answers to `shares`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "looks_at_all",
        "it takes too long to look at every rank",
        """
        def shares(speeds, batch):
            given = [0] * len(speeds)
            for _ in range(batch):
                r = min(range(len(speeds)), key=lambda r: (given[r] + 1) / speeds[r])
                given[r] += 1
            return given
        """,
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
    whole(
        "each_rounded",
        "If each share is rounded by itself",
        """
        def shares(speeds, batch):
            return [round(batch * speed / sum(speeds)) for speed in speeds]
        """,
    ),
    whole(
        "equal",
        "Equal shares: all wait for the slowest rank",
        """
        def shares(speeds, batch):
            return [batch // len(speeds) + (r < batch % len(speeds)) for r in range(len(speeds))]
        """,
    ),
    whole(
        "fractions",
        "Samples come whole",
        """
        def shares(speeds, batch):
            return [batch * speed / sum(speeds) for speed in speeds]
        """,
    ),
    whole(
        "largest_remainders",
        "went to those who lost most by rounding down",
        """
        def shares(speeds, batch):
            exact = [batch * speed / sum(speeds) for speed in speeds]
            given = [int(share) for share in exact]
            order = sorted(range(len(speeds)), key=lambda r: given[r] - exact[r])
            for r in order[: batch - sum(given)]:
                given[r] += 1
            return given
        """,
    ),
    edit("one_sample_late", "who would be through with one more?", "(given[r] + 1)", "given[r]", of="looks_at_all"),
    whole(
        "rest_to_the_fastest",
        "went to one rank",
        """
        def shares(speeds, batch):
            given = [int(batch * speed / sum(speeds)) for speed in speeds]
            given[speeds.index(max(speeds))] += batch - sum(given)
            return given
        """,
    ),
    whole(
        "rest_to_the_first",
        "The first ranks have one more each",
        """
        def shares(speeds, batch):
            given = [int(batch * speed / sum(speeds)) for speed in speeds]
            for r in range(batch - sum(given)):
                given[r] += 1
            return given
        """,
    ),
    whole(
        "seconds_for_speeds",
        "Speed is samples per second",
        """
        def shares(speeds, batch):
            pace = [1 / speed for speed in speeds]
            given = [int(batch * each / sum(pace)) for each in pace]
            for r in range(batch - sum(given)):
                given[r] += 1
            return given
        """,
    ),
]
