"""The idle time of a rank."""

EARNS = "Those are the seconds"


def bubble_share(schedule, p, m, v):
    return 3 * (p - 1) / v
