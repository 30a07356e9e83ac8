"""The other share."""

EARNS = "share of time in which it works"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return 1 / p
    return v * m / (v * m + p - 1)
