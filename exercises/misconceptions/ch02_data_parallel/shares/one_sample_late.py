"""Gives each sample to the rank that is free first."""

EARNS = "who would be through with one more?"


def shares(speeds, batch):
    given = [0] * len(speeds)
    for _ in range(batch):
        r = min(range(len(speeds)), key=lambda r: given[r] / speeds[r])
        given[r] += 1
    return given
