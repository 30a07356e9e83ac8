"""Tries all ways to share the batch."""

EARNS = "too many ways to share a batch"


def shares(speeds, batch):
    def ways(ranks, left):
        if ranks == 1:
            yield [left]
            return
        for share in range(left + 1):
            yield from ([share, *rest] for rest in ways(ranks - 1, left - share))

    return min(ways(len(speeds), batch), key=lambda way: max(s / v for s, v in zip(way, speeds)))
