"""p for p - 1."""

import math

EARNS = "p where p - 1 belongs"


def least_micro_batches(p, percent):
    return math.ceil(p * (100 - percent) / percent)
