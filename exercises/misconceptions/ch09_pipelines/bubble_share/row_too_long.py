"""p - 1 idle passes, of m + p."""

EARNS = "the whole time is too long"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / (m * v + p)
