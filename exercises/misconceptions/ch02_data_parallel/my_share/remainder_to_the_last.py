"""The last rank takes all that is left over."""

EARNS = "All wait for the rank that has most"


def my_share(order, size, step, rank, ranks):
    batch = order[step * size : (step + 1) * size]
    each = len(batch) // ranks
    return batch[rank * each :] if rank == ranks - 1 else batch[rank * each : (rank + 1) * each]
