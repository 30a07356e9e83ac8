"""g @ g."""

EARNS = "g @ g is one number"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        moved = history[t] - history[read]
        history.append(history[t] - rate * (g + strength * (g @ g) * moved))
    return history[-1]
