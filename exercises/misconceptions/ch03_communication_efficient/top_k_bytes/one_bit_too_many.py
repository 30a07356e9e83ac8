"""The bits of d, and not of d - 1."""

import math

EARNS = "d itself is none of them"


def top_k_bytes(d, k):
    return 4 * k + math.ceil(k * d.bit_length() / 8)
