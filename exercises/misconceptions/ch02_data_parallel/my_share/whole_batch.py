"""Every rank takes all of the batch."""

EARNS = "Every rank has the whole batch"


def my_share(order, size, step, rank, ranks):
    return order[step * size : (step + 1) * size]
