"""p - r also for few micro-batches."""

EARNS = "than there are cannot be kept"


def activations_kept(schedule, p, m, batch):
    if schedule == "GPipe":
        return [batch / p] * p
    return [(p - r) * batch / p / m for r in range(p)]
