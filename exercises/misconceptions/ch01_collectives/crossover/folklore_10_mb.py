"""The other constant that is passed on."""

EARNS = "10 MB is a rule of thumb"


def crossover(P, alpha, beta):
    return 10e6
