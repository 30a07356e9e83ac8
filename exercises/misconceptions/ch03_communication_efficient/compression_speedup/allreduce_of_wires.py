"""Puts the compressed gradients through a ring all-reduce."""

EARNS = "You all-reduce the compressed gradients"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    ring = 2 * (P - 1) / P / bandwidth
    return ring * n / (compress + ring * wire + decompress)
