"""Not by magnitude."""

import numpy as np

EARNS = "-5 is more worth sending than 1"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(p)[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = p - c
    return sent, e
