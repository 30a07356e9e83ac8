"""Naively: the share in which a rank works."""

EARNS = "That is the share in which a rank works"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return 1 / p
    return (p - 1) / (v * m + p - 1)
