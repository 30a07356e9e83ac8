"""The formula of a tree."""

import math

EARNS = "That is a tree's time"


def ring_time(P, n, alpha, beta):
    return 2 * math.ceil(math.log2(P)) * (alpha + n * beta)
