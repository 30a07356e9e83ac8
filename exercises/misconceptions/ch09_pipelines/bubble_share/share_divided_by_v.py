"""The share is a v-th."""

EARNS = "So the whole time is shorter, too"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / (m + p - 1) / v
