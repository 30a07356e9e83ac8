"""// in the factor, with brackets: it is 0."""

EARNS = "0, for data that took time?"


def bus_bandwidth(P, n, seconds):
    return 2 * ((P - 1) // P) * n / seconds
