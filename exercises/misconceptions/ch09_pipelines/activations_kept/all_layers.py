"""Every rank with all layers."""

EARNS = "A rank does not have all layers"


def activations_kept(schedule, p, m, batch):
    return [(m if schedule == "GPipe" else min(p - r, m)) * batch / m for r in range(p)]
