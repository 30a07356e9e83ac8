"""Charges the all-gather as an all-reduce."""

EARNS = "The all-gather is charged twice"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return (2 * (P - 1) / P * n / bandwidth) / (compress + decompress + 2 * (P - 1) * wire / bandwidth)
