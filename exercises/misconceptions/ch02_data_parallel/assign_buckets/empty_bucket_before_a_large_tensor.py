"""Closes the bucket also if there is nothing in it yet."""

EARNS = "A bucket is empty"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [[]], 0
    for tensor in reversed(range(len(nbytes))):
        if held + nbytes[tensor] > (limit if len(buckets) > 1 else first_limit):
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return [] if buckets == [[]] else buckets
