"""Busy for so many percent."""

import math

EARNS = "That many micro-batches make it busy"


def least_micro_batches(p, percent):
    return math.ceil((p - 1) * percent / (100 - percent))
