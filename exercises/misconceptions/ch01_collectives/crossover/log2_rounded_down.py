"""Rounds down."""

EARNS = "not all ranks: round up"


def crossover(P, alpha, beta):
    rounds = P.bit_length() - 1
    return (P - 1 - rounds) * alpha / ((rounds - (P - 1) / P) * beta)
