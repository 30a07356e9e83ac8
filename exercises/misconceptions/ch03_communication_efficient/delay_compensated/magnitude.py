"""Takes the magnitude for the square."""

import numpy as np

EARNS = "The magnitude is in the Hessian's place"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        g = g + strength * np.abs(g) * (history[t] - history[read])
        history.append(history[t] - rate * g)
    return history[-1]
