"""Cuts the tree's messages into blocks."""

import math

EARNS = "Nothing is cut into blocks there"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (P - 1 - rounds) * alpha / ((rounds / P - (P - 1) / P) * beta)
