"""Updates the weights that were read."""

EARNS = "all updates since then are lost"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        g = g + strength * g * g * (history[t] - history[read])
        history.append(history[read] - rate * g)
    return history[-1]
