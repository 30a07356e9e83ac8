"""Fewer than so many percent."""

EARNS = "at most so many percent, not fewer"


def least_micro_batches(p, percent):
    return (p - 1) * (100 - percent) // percent + 1
