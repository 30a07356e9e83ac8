"""Every message is hidden behind a backward pass."""

EARNS = "the shorter of the two"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    best = None
    for m in range(1, batch + 1):
        if batch % m:
            continue
        b = batch // m
        f = fixed + b * slope
        if alpha + b * beta > 2 * f:
            continue
        if weights + min(p, m) * b * kept > memory:
            continue
        t = (m + p - 1) * 3 * f
        if best is None or t < best[0]:
            best = t, m
    return best and best[1]
