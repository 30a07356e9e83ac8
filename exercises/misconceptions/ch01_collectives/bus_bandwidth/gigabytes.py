"""In the unit of data sheets."""

EARNS = "please, not GB/s"


def bus_bandwidth(P, n, seconds):
    return 2 * (P - 1) / P * n / seconds / 1e9
