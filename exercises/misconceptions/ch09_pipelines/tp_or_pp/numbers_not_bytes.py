"""Numbers, not bytes."""

EARNS = "How many bytes has each?"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
