"""M P A for GPipe."""

EARNS = "That is the memory of all ranks together"


def activations_kept(schedule, p, m, batch):
    A = batch / p / m
    return [m * p * A if schedule == "GPipe" else min(p - r, m) * A for r in range(p)]
