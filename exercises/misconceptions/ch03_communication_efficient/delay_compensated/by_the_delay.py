"""Multiplies by how late it is."""

EARNS = "does not say how far the weights have moved"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        history.append(history[t] - rate * (g + strength * g * g * (t - read)))
    return history[-1]
