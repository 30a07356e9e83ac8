"""Compensates, and still damps."""

EARNS = "Compensated and damped"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        moved = history[t] - history[read]
        history.append(history[t] - rate * (g + strength * g * g * moved) / (1 + t - read))
    return history[-1]
