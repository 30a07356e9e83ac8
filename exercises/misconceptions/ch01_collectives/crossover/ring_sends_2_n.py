"""The limit for many ranks in place of 2 (P - 1) / P."""

import math

EARNS = "Your ring sends 2 n bytes a rank"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (P - 1 - rounds) * alpha / ((rounds - 1) * beta)
