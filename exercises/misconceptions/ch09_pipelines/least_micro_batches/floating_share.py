"""Right on paper, not in floating point."""

import math

EARNS = "Right on paper"


def least_micro_batches(p, percent):
    share = percent / 100
    return max(1, math.ceil((p - 1) * (1 - share) / share))
