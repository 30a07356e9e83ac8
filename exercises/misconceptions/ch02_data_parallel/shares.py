"""Wrong answers to `shares`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

ROUNDED = "[round(batch * speed / sum(speeds)) for speed in speeds]"

WRONG = [
    edit("each_rounded", "If each share is rounded by itself", "return given", f"return {ROUNDED}"),
    edit("fractions", "Samples come whole", "return given", "return [batch * speed / sum(speeds) for speed in speeds]"),
    edit(
        "steps_over_the_batch",
        "too many ways to try",
        "return given",
        f"""
        given = {ROUNDED}
        while sum(given) != batch:
            given[0] += 1
        return given
        """,
    ),
    edit(
        "at_least_one_each",
        "and yet should not have one",
        "return given",
        """
        given = [max(1, int(batch * speed / sum(speeds))) for speed in speeds]
        given[speeds.index(max(speeds))] += batch - sum(given)
        return given
        """,
    ),
    edit(
        "looks_at_all",
        "it takes too long to look at every rank",
        "_, rank = heap[0]",
        "rank = min(range(len(speeds)), key=lambda r: (given[r] + 1) / speeds[r])",
    ),
    whole(
        "all_possibilities",
        "too many ways to try",
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
