"""For each sample it looks at all ranks."""

EARNS = "it takes too long to look at every rank"


def shares(speeds, batch):
    given = [0] * len(speeds)
    for _ in range(batch):
        r = min(range(len(speeds)), key=lambda r: (given[r] + 1) / speeds[r])
        given[r] += 1
    return given
