"""Takes out the raise and runs the rest as it is."""

EARNS = "A blank is not filled in yet"


def stochastic_round(x, u):
    low = ___  # noqa: F821
    return low + (u < ___)  # noqa: F821
