"""Only the ring has latencies."""

import math

EARNS = "The rounds of the tree have a latency"


def crossover(P, alpha, beta):
    rounds = math.ceil(math.log2(P))
    return (P - 1) * alpha / ((rounds - (P - 1) / P) * beta)
