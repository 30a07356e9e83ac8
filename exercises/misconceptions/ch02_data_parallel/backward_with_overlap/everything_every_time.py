"""Each bucket takes along all gradients that are there."""

import numpy as np

from reference import mpi

EARNS = "and no others"


def backward_with_overlap(comm, backward, buckets):
    ready, flats, requests = {}, [], []

    def hook(tensor, gradient):
        ready[tensor] = gradient
        for bucket in buckets:
            if tensor == bucket[-1]:
                flats.append(np.concatenate([ready[member] for member in [*bucket, *ready]]))
                requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))

    backward(comm, hook)
    mpi.waitall(requests)
    for bucket, flat in zip(buckets, flats):
        for tensor in bucket:
            ready[tensor], flat = flat[: ready[tensor].size], flat[ready[tensor].size :]
    return [ready[tensor] for tensor in range(len(ready))]
