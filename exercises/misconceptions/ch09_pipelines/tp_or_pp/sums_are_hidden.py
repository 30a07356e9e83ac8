"""Overlaps TP's sums."""

EARNS = "not hidden behind computing"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
    return tp, pp, "TP" if max(seconds / P, tp / bandwidth) < seconds / P * (m + P - 1) / m else "PP"
