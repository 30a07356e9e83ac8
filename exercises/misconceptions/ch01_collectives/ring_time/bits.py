"""Takes beta for seconds per bit."""

EARNS = "A factor of 8: bits?"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) * (alpha + 8 * n / P * beta)
