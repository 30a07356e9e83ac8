"""MPI has this operation, so why write it?"""

EARNS = "Bcast does the whole job"


def binomial_broadcast(comm, x, root):
    comm.Bcast(x, root=root)
