"""The bucket that is being filled when the loop ends is forgotten."""

EARNS = "is in no bucket"


def assign_buckets(nbytes, limit, first_limit):
    buckets, bucket, held = [], [], 0
    for tensor in reversed(range(len(nbytes))):
        most = limit if buckets else first_limit
        if bucket and held + nbytes[tensor] > most:
            buckets.append(bucket)
            bucket, held = [], 0
        bucket.append(tensor)
        held += nbytes[tensor]
    return buckets
