"""One all-reduce of everything at the end."""

import numpy as np

from reference import mpi

EARNS = "One for everything"


def backward_with_overlap(comm, backward, buckets):
    ready = {}
    backward(comm, ready.__setitem__)
    flat = np.concatenate([ready[tensor] for tensor in range(len(ready))])
    comm.Iallreduce(mpi.IN_PLACE, flat).Wait()
    ends = np.cumsum([ready[tensor].size for tensor in range(len(ready))])
    return np.split(flat, ends[:-1])
