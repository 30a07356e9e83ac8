"""A first tensor above the first limit: the larger one holds from there on."""

EARNS = "here others were put beside it"


def assign_buckets(nbytes, limit, first_limit):
    buckets, bucket, held, most = [], [], 0, first_limit
    for i in range(len(nbytes))[::-1]:
        if held + nbytes[i] > most:
            if bucket:
                buckets.append(bucket)
            bucket, held, most = [], 0, limit
        bucket.append(i)
        held += nbytes[i]
    return buckets + [bucket] * bool(bucket)
