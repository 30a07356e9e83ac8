"""A tree that sends n bytes each way in all, as if it were cut into segments."""

import math

EARNS = "Your tree sends n bytes once each way"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (P - 1 - rounds) * alpha / ((1 - (P - 1) / P) * beta)
