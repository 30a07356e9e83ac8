"""Counts p idle passes, of m + p."""

EARNS = "The first rank waits for nobody"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return p / (m * v + p)
