"""Repeats samples until all shares are equally long, as samplers do."""

EARNS = "Are some repeated so that all shares are equally long?"


def my_share(order, size, step, rank, ranks):
    batch = order[step * size : (step + 1) * size]
    each = -(-len(batch) // ranks)
    padded = batch * ranks
    return padded[rank * each : (rank + 1) * each]
