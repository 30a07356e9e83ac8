"""Gives an index a bit where there is one place only."""

import math

EARNS = "With d = 1 there is one place only"


def top_k_bytes(d, k):
    return 4 * k + math.ceil(k * max(1, (d - 1).bit_length()) / 8)
