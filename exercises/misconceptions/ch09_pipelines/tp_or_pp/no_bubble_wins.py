"""No bubble is quicker."""

EARNS = "No bubble, but sums to wait for"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
    return tp, pp, "TP"
