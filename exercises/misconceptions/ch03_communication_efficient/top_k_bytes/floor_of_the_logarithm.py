"""Rounds log2 down."""

import math

EARNS = "log2 was rounded down"


def top_k_bytes(d, k):
    return 4 * k + math.ceil(k * math.floor(math.log2(d)) / 8)
