"""A pipeline of p v ranks."""

EARNS = "as a pipeline of p v ranks"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    q = p * v
    return (q - 1) / (v * m + q - 1)
