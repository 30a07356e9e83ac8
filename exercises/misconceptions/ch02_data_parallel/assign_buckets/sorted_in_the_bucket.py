"""Lists the tensors of a bucket in the order of the model."""

EARNS = "each sorted the other way round"


def assign_buckets(nbytes, limit, first_limit):
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held + nbytes[tensor] > most:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    return [sorted(bucket) for bucket in buckets]
