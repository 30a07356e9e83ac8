"""Takes its own way for that of all."""

import numpy as np

EARNS = "Nothing was sent"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    u = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        u = beta * u - way / rate
        w = w - alpha * rate * u
    return w
