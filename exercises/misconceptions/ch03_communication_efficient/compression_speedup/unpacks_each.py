"""Charges unpacking for every rank's gradient."""

EARNS = "Decompressing is charged for each rank's"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return (2 * (P - 1) / P * n / bandwidth) / (compress + (P - 1) * wire / bandwidth + P * decompress)
