"""Overlooks the limit of the first bucket."""

EARNS = "The first bucket was filled up to `limit`"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        most = limit
        if not buckets or held + nbytes[tensor] > most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return buckets
