"""1F1B halves the bubble."""

EARNS = "Which of these three does the order change?"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    share = (p - 1) / (v * m + p - 1)
    return share / 2 if schedule == "1F1B" else share
