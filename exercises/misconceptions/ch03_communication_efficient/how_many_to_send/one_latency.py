"""Charges one latency."""

EARNS = "One latency is charged"


def top_k_bytes(d, k):
    return 4 * k + (k * (d - 1).bit_length() + 7) // 8


def how_many_to_send(d, P, alpha, beta, codec, window):
    def top(k):
        return d * codec + alpha + (P - 1) * beta * top_k_bytes(d, k)

    whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
    if whole <= window:
        return 0
    if d == 1:
        return 0
    if top(1) > window:
        return 1 if top(1) < whole else 0
    lo, hi = 1, d
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if top(mid) <= window:
            lo = mid
        else:
            hi = mid
    return lo
