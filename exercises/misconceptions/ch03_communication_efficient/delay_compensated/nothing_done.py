"""Takes the damping away, and puts nothing there."""

EARNS = "A late gradient is used as it is"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        history.append(history[t] - rate * gradient(history[read]))
    return history[-1]
