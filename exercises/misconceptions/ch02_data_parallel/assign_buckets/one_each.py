"""A bucket for each tensor."""

EARNS = "Each tensor has a bucket of its own"


def assign_buckets(nbytes, limit, first_limit):
    return [[tensor] for tensor in reversed(range(len(nbytes)))]
