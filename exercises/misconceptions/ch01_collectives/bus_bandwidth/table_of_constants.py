"""The factor of a machine of 8 GPUs, for all machines."""

EARNS = "The factor 1.75 belongs to 8 ranks"


def bus_bandwidth(P, n, seconds):
    return 1.75 * n / seconds
