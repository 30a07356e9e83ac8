"""Chooses by the gradient, and sends from the sum."""

import numpy as np

EARNS = "Which numbers decide who is sent?"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(np.abs(g))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = p - c
    return sent, e
