"""Lets a rank that is alone send something."""

EARNS = "With one rank there is nobody to send to"


def ring_time(P, n, alpha, beta):
    return 2 * max(P - 1, 1) * (alpha + n / P * beta)
