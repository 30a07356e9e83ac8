"""Cuts the whole order by ranks first, as samplers do, and then takes a batch of each part."""

EARNS = "Share out the batch of a step"


def my_share(order, size, step, rank, ranks):
    mine = order[rank::ranks]
    each = -(-size // ranks)
    return mine[step * each : (step + 1) * each]
