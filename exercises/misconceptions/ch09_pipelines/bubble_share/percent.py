"""In percent."""

EARNS = "rounded or in percent"


def bubble_share(schedule, p, m, v):
    share = (p - 1) / p if schedule == "naive" else (p - 1) / (v * m + p - 1)
    return round(100 * share, 1)
