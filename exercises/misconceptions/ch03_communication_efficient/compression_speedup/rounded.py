"""Rounds what it returns."""

EARNS = "Right but for rounding"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return round((2 * (P - 1) / P * n / bandwidth) / (compress + decompress + (P - 1) * wire / bandwidth), 2)
