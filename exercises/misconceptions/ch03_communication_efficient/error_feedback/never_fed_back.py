"""Keeps the books, and never pays."""

import numpy as np

EARNS = "Textbooks have this one"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = e + g - c
    return sent, e
