"""One too many."""

EARNS = "never keeps more than one micro-batch"


def activations_kept(schedule, p, m, batch):
    if schedule == "GPipe":
        return [batch / p] * p
    return [min(p - r + 1, m) * batch / p / m for r in range(p)]
