"""No bubble, no micro-batch."""

EARNS = "a step without a micro-batch does nothing"


def least_micro_batches(p, percent):
    return -((p - 1) * (percent - 100) // percent)
