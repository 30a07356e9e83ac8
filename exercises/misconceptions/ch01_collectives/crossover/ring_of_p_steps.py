"""Off by one: P steps each way."""

import math

EARNS = "How many steps has each half of the ring?"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (P - rounds) * alpha / ((rounds - (P - 1) / P) * beta)
