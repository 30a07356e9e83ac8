"""One step for each rank."""

EARNS = "2 P steps."


def ring_time(P, n, alpha, beta):
    return 2 * P * (alpha + n / P * beta)
