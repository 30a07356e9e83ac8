"""A round number."""

EARNS = "A constant is right for one machine"


def crossover(P, alpha, beta):
    return 1e6
