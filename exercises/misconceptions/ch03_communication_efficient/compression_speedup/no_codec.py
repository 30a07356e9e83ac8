"""Counts bytes only."""

EARNS = "Compressing and decompressing take time as well"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return 2 * n / P / wire
