"""Turns the list of the caller round."""

EARNS = "The caller still needs nbytes"


def assign_buckets(nbytes, limit, first_limit):
    nbytes.reverse()
    buckets, bucket, held, most = [], [], 0, first_limit
    for i, more in enumerate(nbytes):
        if bucket and held + more > most:
            buckets.append(bucket)
            bucket, held, most = [], 0, limit
        bucket.append(len(nbytes) - 1 - i)
        held += more
    return buckets + [bucket] * bool(bucket)
