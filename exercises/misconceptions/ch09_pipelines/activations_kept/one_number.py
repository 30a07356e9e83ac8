"""The largest of all ranks."""

EARNS = "the bytes of rank 0, of rank 1"


def activations_kept(schedule, p, m, batch):
    return batch / p if schedule == "GPipe" else min(p, m) * batch / p / m
