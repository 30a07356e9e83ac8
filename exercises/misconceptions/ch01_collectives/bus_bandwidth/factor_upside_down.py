"""Divides by the factor."""

EARNS = "The factor is on the wrong side"


def bus_bandwidth(P, n, seconds):
    return n / seconds / (2 * (P - 1) / P)
