"""The outer product."""

import numpy as np

EARNS = "Meant is its diagonal"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        moved = history[t] - history[read]
        history.append(history[t] - rate * (g + strength * np.outer(g, g) @ moved))
    return history[-1]
