"""1F1B keeps all."""

EARNS = "1F1B does not keep all"


def activations_kept(schedule, p, m, batch):
    return [batch / p] * p
