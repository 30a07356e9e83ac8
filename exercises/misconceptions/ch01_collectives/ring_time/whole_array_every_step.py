"""Passes on all n bytes in every step."""

EARNS = "A message of the ring carries one block"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) * (alpha + n * beta)
