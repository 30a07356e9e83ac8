"""The rules are for larger batches only."""

EARNS = "The global batch has become smaller"


def which_rate():
    return {"A": "linear", "B": "square root", "C": "same", "D": "same", "E": "square root", "F": "same", "G": "same"}
