"""Takes part in everything, and returns what it had."""

import numpy as np

from reference import mpi

EARNS = "All the names of sizes belong in it"


def same_order(comm, gradients, sizes):
    total = {name: gradients.get(name, np.zeros(size)).copy() for name, size in sizes.items()}
    for name in sizes:
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return {name: total[name] for name in gradients}
