"""The whole batch for each micro-batch."""

EARNS = "The whole batch is counted for each"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n * m
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
