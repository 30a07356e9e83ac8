"""A bucket is closed when it has reached its limit, as in DDP."""

EARNS = "Some buckets hold more than their limit"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held >= most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return buckets
