"""The factor of an allgather."""

EARNS = "This factor fits an allgather"


def bus_bandwidth(P, n, seconds):
    return (P - 1) / P * n / seconds
