"""Takes out the raise and runs the rest as it is."""

from reference import mpi

EARNS = "MPI knows no names"


def same_order(comm, gradients, sizes):
    total = {}
    for name, gradient in gradients.items():
        total[name] = gradient.copy()
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return total
