"""The code to repair, as it is."""

EARNS = "That is damping"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        history.append(history[t] - rate * g / (1 + t - read))
    return history[-1]
