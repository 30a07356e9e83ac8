"""What is left of g, and not of g + e."""

import numpy as np

EARNS = "forgotten: of g + e"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = g - c
    return sent, e
