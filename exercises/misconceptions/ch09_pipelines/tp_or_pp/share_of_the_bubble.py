"""The bubble as a share of the time without it."""

EARNS = "is of PP's own step"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / (m + P - 1) else "PP"
