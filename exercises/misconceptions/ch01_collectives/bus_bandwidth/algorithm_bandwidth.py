"""The size of the data over the time."""

EARNS = "what benchmarks call algorithm bandwidth"


def bus_bandwidth(P, n, seconds):
    return n / seconds
