"""The default of DDP."""

EARNS = "That is a default of frameworks"


def bucket_limit(nbytes, seconds, P, alpha, beta):
    return 25 * 2**20
