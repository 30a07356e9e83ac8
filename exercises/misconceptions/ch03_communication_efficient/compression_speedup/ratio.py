"""The ratio of the sizes."""

EARNS = "That is how much smaller a gradient becomes"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return n / wire
