"""From p / m."""

import math

EARNS = "That is with p / m, a rule"


def least_micro_batches(p, percent):
    return math.ceil(100 * p / percent)
