"""All-reduces the whole gradient, and then sends one compressed one."""

EARNS = "How many are that?"


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    return 2 * (P - 1) / P * n / bandwidth / (compress + wire / bandwidth + decompress)
