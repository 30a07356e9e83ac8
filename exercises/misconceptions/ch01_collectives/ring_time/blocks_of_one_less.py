"""Cuts n into as many blocks as there are steps."""

EARNS = "as if n were cut into P - 1 blocks"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) * (alpha + n / max(P - 1, 1) * beta)
