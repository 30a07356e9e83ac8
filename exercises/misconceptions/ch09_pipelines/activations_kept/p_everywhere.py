"""At most p micro-batches, on every rank."""

EARNS = "and how much those between"


def activations_kept(schedule, p, m, batch):
    if schedule == "GPipe":
        return [batch / p] * p
    return [min(p, m) * batch / p / m] * p
