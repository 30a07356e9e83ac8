"""Each worker trains by itself."""

EARNS = "No gradient is in it"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    for step in range(steps if comm.rank else 0):
        w -= rate * gradient(comm, w, step)
    return w
