"""Does not multiply the compensation by the rate."""

EARNS = "The compensation and the rate"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        c = strength * g * g * (history[t] - history[read])
        history.append(history[t] - rate * g - c)
    return history[-1]
