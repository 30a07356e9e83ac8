"""The rule of thumb."""

EARNS = "p / m is a rule of thumb for very many"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return p / m / v
