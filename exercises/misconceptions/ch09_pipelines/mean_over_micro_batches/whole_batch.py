"""Computes the whole batch at once."""

EARNS = "More than a micro-batch at once"


def mean_over_micro_batches(gradient, X, y, m):
    return gradient(X, y)
