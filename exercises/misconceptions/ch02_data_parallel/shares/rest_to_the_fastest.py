"""Rounds down; the fastest takes what is left."""

EARNS = "went to one rank"


def shares(speeds, batch):
    given = [int(batch * speed / sum(speeds)) for speed in speeds]
    given[speeds.index(max(speeds))] += batch - sum(given)
    return given
