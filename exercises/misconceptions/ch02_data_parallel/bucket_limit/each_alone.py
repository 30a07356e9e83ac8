"""A bucket for each tensor."""

EARNS = "Each tensor has a bucket of its own here"


def bucket_limit(nbytes, seconds, P, alpha, beta):
    return 1
