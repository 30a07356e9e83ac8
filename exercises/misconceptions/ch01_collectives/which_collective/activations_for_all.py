"""Broadcasts activations."""

EARNS = "The whole world would get"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "broadcast",
        "H": "gather",
        "I": "barrier",
    }
