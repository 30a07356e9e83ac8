"""Rank 0 tells the others that they may go on."""

EARNS = "What does it know of"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "broadcast",
    }
