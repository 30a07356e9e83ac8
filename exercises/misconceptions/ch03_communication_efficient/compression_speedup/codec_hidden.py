"""Hides the codec behind the communication."""

EARNS = "the times add up"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return (2 * (P - 1) / P * n / bandwidth) / max(compress + decompress, (P - 1) * wire / bandwidth)
