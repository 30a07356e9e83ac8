"""A constant that is passed on for NCCL."""

EARNS = "256 KiB is a figure that is passed on"


def crossover(P, alpha, beta):
    return 256 * 1024
