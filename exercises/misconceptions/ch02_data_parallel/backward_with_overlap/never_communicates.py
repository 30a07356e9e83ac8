"""Returns its own gradients."""

import numpy as np

EARNS = "Nothing was sent, so each rank has its own gradients only"


def backward_with_overlap(comm, backward, buckets):
    ready, flats = {}, []

    def hook(tensor, gradient):
        ready[tensor] = gradient
        for bucket in buckets:
            if tensor == bucket[-1]:
                flats.append(np.concatenate([ready[member] for member in bucket]))

    backward(comm, hook)
    for bucket, flat in zip(buckets, flats):
        for tensor in bucket:
            ready[tensor], flat = flat[: ready[tensor].size], flat[ready[tensor].size :]
    return [ready[tensor] for tensor in range(len(ready))]
