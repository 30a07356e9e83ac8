"""From idle time over work."""

import math

EARNS = "That is with (p - 1) / m"


def least_micro_batches(p, percent):
    return max(1, math.ceil(100 * (p - 1) / percent))
