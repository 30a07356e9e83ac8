"""Forgets alpha, as bandwidth formulas do."""

EARNS = "where is alpha?"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) / P * n * beta
