"""Numbers the tensors in the order in which they become ready."""

EARNS = "counted from the end"


def assign_buckets(nbytes, limit, first_limit):
    buckets, bucket, held, most = [], [], 0, first_limit
    for i, more in enumerate(reversed(nbytes)):
        if bucket and held + more > most:
            buckets.append(bucket)
            bucket, held, most = [], 0, limit
        bucket.append(i)
        held += more
    return buckets + [bucket] * bool(bucket)
