"""Divides the wrong way round."""

EARNS = "the reciprocal"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    ring = 2 * (P - 1) / P * n / bandwidth
    return (compress + (P - 1) * wire / bandwidth + decompress) / ring
