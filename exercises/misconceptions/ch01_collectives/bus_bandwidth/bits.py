"""In the unit of networks."""

EARNS = "please, not bits"


def bus_bandwidth(P, n, seconds):
    return 8 * 2 * (P - 1) / P * n / seconds
