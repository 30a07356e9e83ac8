"""An all-reduce sends what is summed."""

EARNS = "in each of 2 (P - 1) steps a P-th"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 4 * layers * n, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
