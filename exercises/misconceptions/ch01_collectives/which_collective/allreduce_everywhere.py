"""One collective for everything."""

EARNS = "An allreduce gives every rank the sum"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "allreduce",
        "F": "allreduce",
        "G": "allreduce",
        "H": "allreduce",
        "I": "allreduce",
    }
