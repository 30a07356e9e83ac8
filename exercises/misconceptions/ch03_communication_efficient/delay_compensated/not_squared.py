"""g once."""

EARNS = "g is in it once only"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        moved = history[t] - history[read]
        history.append(history[t] - rate * (g + strength * g * moved))
    return history[-1]
