"""One call with a small letter takes the whole list, and then its + joins lists."""

EARNS = "pickles its object"


def allreduce_together(comm, arrays):
    everybody = comm.allgather(arrays)
    return [sum(parts) for parts in zip(*everybody)]
