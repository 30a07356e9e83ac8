"""Tries a thousand limits at equal distances."""

import numpy as np

EARNS = "between two points of a grid"


def step(limit, nbytes, seconds, P, alpha, beta):
    full = through = held = 0.0
    for i in range(len(nbytes))[::-1]:
        if held and held + nbytes[i] > limit:
            through = max(full, through) + 2 * (P - 1) * (alpha + held / P * beta)
            held = 0
        held += nbytes[i]
        full += seconds[i]
    return max(full, through) + 2 * (P - 1) * (alpha + held / P * beta)


def bucket_limit(nbytes, seconds, P, alpha, beta):
    limits = np.linspace(min(nbytes), sum(nbytes), 1000).tolist()
    return min(limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta))
