"""What a stage sends forward."""

EARNS = "has a neighbour on either side"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
