"""The all-reduce of data parallelism, on a P-th of the parameters."""

EARNS = "Tensor parallelism sums no gradients of weights"


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    n = 2 * batch * s * h
    tp, pp = 2 * (P - 1) / P * 2 * 12 * layers * h * h / P, 2 * n
    return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
