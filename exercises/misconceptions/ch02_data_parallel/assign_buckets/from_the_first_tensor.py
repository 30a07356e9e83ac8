"""Fills the buckets in the order of the forward pass."""

EARNS = "Those are the buckets from the first tensor on"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in range(len(nbytes)):
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held + nbytes[tensor] > most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return buckets
