"""The same for a ring alone."""

EARNS = "That is P alpha / beta"


def crossover(P, alpha, beta):
    return P * alpha / beta
