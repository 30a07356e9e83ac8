"""Takes the first limit for all."""

EARNS = "That is for the first one only"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        most = first_limit
        if not buckets or held + nbytes[tensor] > most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return buckets
