"""Only reduces, or only broadcasts."""

import math

EARNS = "The tree goes one way only in your comparison"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return max(0, (2 * (P - 1) - rounds) * alpha / ((rounds - 2 * (P - 1) / P) * beta))
