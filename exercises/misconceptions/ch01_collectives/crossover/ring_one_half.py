"""Compares with a reduce-scatter."""

import math

EARNS = "The ring does one half only"


def crossover(P, alpha, beta):
    rounds = 2 * math.ceil(math.log2(P))
    return max(0, (P - 1 - rounds) * alpha / ((rounds - (P - 1) / P) * beta))
