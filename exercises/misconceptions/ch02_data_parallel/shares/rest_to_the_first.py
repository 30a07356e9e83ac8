"""Rounds down; the first ranks take one more."""

EARNS = "The first ranks have one more each"


def shares(speeds, batch):
    given = [int(batch * speed / sum(speeds)) for speed in speeds]
    for r in range(batch - sum(given)):
        given[r] += 1
    return given
