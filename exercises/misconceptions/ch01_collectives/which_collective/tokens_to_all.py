"""Sends all tokens to all experts."""

EARNS = "Every rank would get all tokens"


def which_collective():
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "allgather",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
