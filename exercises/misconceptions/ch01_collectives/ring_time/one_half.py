"""Stops after the reduce-scatter."""

EARNS = "That is the time of a reduce-scatter"


def ring_time(P, n, alpha, beta):
    return (P - 1) * (alpha + n / P * beta)
