"""A list in the order of the letters."""

EARNS = "Return a dictionary from letters to names"


def which_collective():
    return ["allreduce", "reduce-scatter", "allgather", "broadcast", "alltoall", "reduce", "send", "gather", "barrier"]
