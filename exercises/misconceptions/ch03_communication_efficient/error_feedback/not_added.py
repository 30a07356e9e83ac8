"""Sends from g alone, and keeps the last error."""

import numpy as np

EARNS = "The error is never fed back: what"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = p - c
    return sent, e
