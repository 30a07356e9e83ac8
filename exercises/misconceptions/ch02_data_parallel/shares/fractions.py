"""Shares in fractions."""

EARNS = "Samples come whole"


def shares(speeds, batch):
    return [batch * speed / sum(speeds) for speed in speeds]
