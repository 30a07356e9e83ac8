"""Where the latency of one message is as long as its bytes take."""

EARNS = "That is alpha / beta"


def crossover(P, alpha, beta):
    return alpha / beta
