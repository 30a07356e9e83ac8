"""Lets the whole gradient travel in each step of the ring."""

EARNS = "How much of it does a step move?"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return (2 * (P - 1) * n / bandwidth) / (compress + (P - 1) * wire / bandwidth + decompress)
