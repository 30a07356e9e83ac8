"""There must be a link, one thinks."""

EARNS = "A bandwidth of 0 is no link"


def widest_path(bandwidth, a, b):
    return [a, b]
