"""Idle time over the time of work."""

EARNS = "its share of the whole time, in which"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / v / m
