"""p idle passes, of m + p - 1."""

EARNS = "The idle time is not"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return p / (m * v + p - 1)
