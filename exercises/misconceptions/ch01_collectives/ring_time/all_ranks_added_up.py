"""Adds up what all ranks send, as if they took turns."""

EARNS = "You added up what all ranks do"


def ring_time(P, n, alpha, beta):
    return P * 2 * (P - 1) * (alpha + n / P * beta)
