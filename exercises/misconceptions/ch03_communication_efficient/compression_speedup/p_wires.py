"""All P compressed gradients over each link."""

EARNS = "its own has already been everywhere"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    ring = 2 * (P - 1) / P * n / bandwidth
    return ring / (compress + P * wire / bandwidth + decompress)
