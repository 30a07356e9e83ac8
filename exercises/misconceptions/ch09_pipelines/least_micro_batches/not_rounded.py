"""Parts of micro-batches."""

EARNS = "Micro-batches are whole"


def least_micro_batches(p, percent):
    return (p - 1) * (100 - percent) / percent
