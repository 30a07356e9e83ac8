"""Not sure about one of them."""

EARNS = "guessing is free"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "H": "gather",
        "I": "barrier",
    }
