"""Adds p - 1 when it solves for m."""

import math

EARNS = "goes to the other side: its sign"


def least_micro_batches(p, percent):
    return math.ceil((p - 1) / percent * 100) + p - 1
