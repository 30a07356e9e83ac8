"""The bubble, in micro-batches of the whole model."""

EARNS = "if it has a P-th of the layers"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds * (P - 1) / m else "PP"
