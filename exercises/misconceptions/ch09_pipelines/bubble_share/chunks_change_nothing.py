"""The interleaved schedule has 1F1B's bubble."""

EARNS = "That is 1F1B's. With v stages"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / (m + p - 1)
