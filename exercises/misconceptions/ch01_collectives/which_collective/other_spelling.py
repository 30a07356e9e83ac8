"""The name that PyTorch uses."""

EARNS = 'Is "allreduce" meant?'


def which_collective():
    return {
        "A": "all_reduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }
