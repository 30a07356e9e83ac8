"""Takes beta for the bandwidth."""

EARNS = "You divide by beta"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) * (alpha + n / P / beta)
