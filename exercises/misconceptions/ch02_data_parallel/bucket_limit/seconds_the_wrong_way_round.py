"""Takes the seconds in the order of the backward pass."""

EARNS = "Fewer buckets would pay fewer latencies"


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
        full += sum(seconds[-1 - i] for i in bucket)
        through = max(full, through) + 2 * (P - 1) * (alpha + sum(nbytes[i] for i in bucket) / P * beta)
    return through


def bucket_limit(nbytes, seconds, P, alpha, beta):
    limits = [sum(nbytes[i:j]) for i in range(len(nbytes)) for j in range(i + 1, len(nbytes) + 1)]
    return min(limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta))
