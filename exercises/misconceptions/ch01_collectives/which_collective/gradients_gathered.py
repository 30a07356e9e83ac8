"""Collects all gradients on every rank, to add them there."""

EARNS = "only their sum"


def which_collective():
    return {
        "A": "allgather",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
