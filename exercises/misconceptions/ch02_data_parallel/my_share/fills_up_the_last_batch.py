"""Makes the last batch as large as the others, from the beginning of the order."""

EARNS = "of other steps, which then come twice in the epoch"


def my_share(order, size, step, rank, ranks):
    batch = [order[i % len(order)] for i in range(step * size, (step + 1) * size)]
    return batch[rank::ranks]
