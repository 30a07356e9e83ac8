"""One difference the wrong way round, and cut off at 0."""

import math

EARNS = "0 says that the ring is never slower"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return max(0, (rounds - (P - 1)) * alpha / ((rounds - (P - 1) / P) * beta))
