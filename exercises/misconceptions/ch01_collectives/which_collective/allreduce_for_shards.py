"""Sums everywhere and throws most of it away, as data parallelism without ZeRO would."""

EARNS = "throw away all but its part of it"


def which_collective():
    return {
        "A": "allreduce",
        "B": "allreduce",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
