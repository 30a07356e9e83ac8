"""All ranks' idle time over one rank's time."""

EARNS = "p cancels"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return p - 1
    return p * (p - 1) / (v * m + p - 1)
