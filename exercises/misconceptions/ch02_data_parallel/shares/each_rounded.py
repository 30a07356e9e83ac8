"""In proportion to speed, each rounded by itself."""

EARNS = "If each share is rounded by itself"


def shares(speeds, batch):
    return [round(batch * speed / sum(speeds)) for speed in speeds]
