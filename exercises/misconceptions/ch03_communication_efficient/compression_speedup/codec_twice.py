"""Compresses and decompresses once for sending and once for receiving."""

EARNS = "charged more than once"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    ring = 2 * (P - 1) / P * n / bandwidth
    return ring / (2 * (compress + decompress) + (P - 1) * wire / bandwidth)
