"""Lets every rank broadcast its part."""

EARNS = "A broadcast has one source"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "broadcast",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
