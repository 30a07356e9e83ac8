"""Without an error."""

import numpy as np

EARNS = "this is plain Top-K"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = np.zeros_like(g)
    return sent, e
