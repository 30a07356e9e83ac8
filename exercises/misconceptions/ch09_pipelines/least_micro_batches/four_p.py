"""The rule, whatever the percentage."""

EARNS = "for other percentages it is just a number"


def least_micro_batches(p, percent):
    return 4 * p
