"""GPipe keeps p micro-batches, too."""

EARNS = "how many micro-batches are there then"


def activations_kept(schedule, p, m, batch):
    in_hand = [min(p, m) if schedule == "GPipe" else min(p - r, m) for r in range(p)]
    return [number * batch / p / m for number in in_hand]
