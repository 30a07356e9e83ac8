"""An all-reduce for each tensor."""

from reference import mpi

EARNS = "As many calls as there are tensors"


def backward_with_overlap(comm, backward, buckets):
    total, requests = {}, []

    def hook(tensor, gradient):
        total[tensor] = gradient
        requests.append(comm.Iallreduce(mpi.IN_PLACE, gradient))

    backward(comm, hook)
    mpi.waitall(requests)
    return [total[tensor] for tensor in range(len(total))]
