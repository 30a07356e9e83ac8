"""One difference the wrong way round."""

import math

EARNS = "one of the two differences is the wrong way round"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (rounds - (P - 1)) * alpha / ((rounds - (P - 1) / P) * beta)
