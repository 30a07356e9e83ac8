"""All ranks together."""

EARNS = "That is the whole cluster"


def activations_kept(schedule, p, m, batch):
    A = batch / p / m
    return [A * m * p if schedule == "GPipe" else A * p * (p + 1) / 2] * p
