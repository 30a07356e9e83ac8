"""Counts what comes in."""

EARNS = "has been sent by others"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 4 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
