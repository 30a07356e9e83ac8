"""Adds the old error again."""

import numpy as np

EARNS = "fed back twice"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = e + p - c
    return sent, e
