"""The linear rule, for every optimizer."""

EARNS = "by which factor does that root shrink"


def which_rate():
    return {"A": "linear", "B": "linear", "C": "same", "D": "same", "E": "linear", "F": "linear", "G": "same"}
