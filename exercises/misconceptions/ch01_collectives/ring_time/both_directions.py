"""Lets the link carry twice as much, because it works in both directions."""

EARNS = "receiving at the same time makes sending no quicker"


def ring_time(P, n, alpha, beta):
    return 2 * (P - 1) * (alpha + n / P * beta / 2)
