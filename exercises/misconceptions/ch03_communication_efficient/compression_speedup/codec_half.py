"""Charges 50 ms for both halves."""

EARNS = "A half of the codec's time is missing"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    ring = 2 * (P - 1) / P * n / bandwidth
    return ring / (compress + (P - 1) * wire / bandwidth)
