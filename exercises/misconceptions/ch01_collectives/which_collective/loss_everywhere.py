"""Averages the loss with an allreduce, as most training scripts do."""

EARNS = "Every rank would know the mean loss"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "allreduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
