"""More stages, longer bubble."""

EARNS = "these are passes of stages a v-th"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return v * (p - 1) / (m + v * (p - 1))
