"""One bucket for everything."""

EARNS = "It is full when the backward pass is over"


def assign_buckets(nbytes, limit, first_limit):
    return [list(reversed(range(len(nbytes))))] if nbytes else []
