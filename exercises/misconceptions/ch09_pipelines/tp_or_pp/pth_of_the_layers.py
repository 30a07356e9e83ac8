"""Takes a P-th of the layers."""

EARNS = "Every rank has a part of every layer"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers / P * (P - 1) * n / P, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
