"""A tensor that fills a bucket exactly begins a new one."""

EARNS = "A bucket may hold just as many bytes"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held + nbytes[tensor] >= most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return buckets
