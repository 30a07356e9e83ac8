"""Rounds down."""

EARNS = "Rounded down there are too few"


def least_micro_batches(p, percent):
    return max(1, (p - 1) * (100 - percent) // percent)
