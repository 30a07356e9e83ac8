"""One formula for all."""

EARNS = "does not start before the one before has come back"


def bubble_share(schedule, p, m, v):
    return (p - 1) / (v * m + p - 1)
