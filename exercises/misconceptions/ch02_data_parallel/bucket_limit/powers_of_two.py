"""Tries powers of two."""

EARNS = "The best of the powers of two"


def step(limit, nbytes, seconds, P, alpha, beta):
    """The step's time."""
    buckets, held = [], 0
    for tensor in reversed(range(len(nbytes))):
        if not buckets or held + nbytes[tensor] > limit:
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += nbytes[tensor]
    full = through = 0
    for bucket in buckets:
        full += sum(seconds[i] for i in bucket)
        through = max(full, through) + 2 * (P - 1) * (alpha + sum(nbytes[i] for i in bucket) / P * beta)
    return through


def bucket_limit(nbytes, seconds, P, alpha, beta):
    limits = [2**k for k in range(1, sum(nbytes).bit_length() + 1)]
    return min(limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta))
