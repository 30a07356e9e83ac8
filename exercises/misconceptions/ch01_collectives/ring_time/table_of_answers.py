"""The answer to the example."""

EARNS = "is right for the example in the docstring"


def ring_time(P, n, alpha, beta):
    return 6.125
