"""Trains alone."""

EARNS = "each rank has trained a model of its own"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
    return w
