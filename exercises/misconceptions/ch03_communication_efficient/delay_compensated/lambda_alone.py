"""No g."""

EARNS = "The Hessian's place is taken by lambda alone"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        moved = history[t] - history[read]
        history.append(history[t] - rate * (g + strength * moved))
    return history[-1]
