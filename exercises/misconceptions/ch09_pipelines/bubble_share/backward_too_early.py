"""Every rank turns round directly after its own last forward pass, as one textbook draws it."""

EARNS = "a backward pass begins too early"


def bubble_share(schedule, p, m, v):
    if schedule == "naive":
        return (p - 1) / p
    makespan = 2 * m + p - 1 if v == 1 else 2 * m + 2 * (p - 1) / v
    return 1 - 2 * m / makespan
