"""Does not round the logarithm."""

import math

EARNS = "The logarithm was not rounded"


def top_k_bytes(d, k):
    return 4 * k + math.ceil(k * math.log2(d) / 8)
