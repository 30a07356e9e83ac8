"""Rounds each share up, until nothing is left."""

EARNS = "Each share is rounded up"


def my_share(order, size, step, rank, ranks):
    batch = order[step * size : (step + 1) * size]
    each = -(-len(batch) // ranks)
    return batch[rank * each : (rank + 1) * each]
