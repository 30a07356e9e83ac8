"""Forgets lambda."""

EARNS = "Where is lambda?"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        g = g + g * g * (history[t] - history[read])
        history.append(history[t] - rate * g)
    return history[-1]
