"""What all ranks send together."""

EARNS = "That is what all ranks send together"


def bus_bandwidth(P, n, seconds):
    return 2 * (P - 1) * n / seconds
