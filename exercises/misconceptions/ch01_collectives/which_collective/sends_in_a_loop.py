"""Rank 0 sends the checkpoint to everybody, one after the other."""

EARNS = "one after the other. All ranks need the same"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "send",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
