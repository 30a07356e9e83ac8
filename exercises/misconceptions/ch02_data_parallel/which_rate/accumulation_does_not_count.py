"""Accumulation takes longer and changes nothing."""

EARNS = "Nothing but time has been added, it seems"


def which_rate():
    return {"A": "linear", "B": "square root", "C": "same", "D": "same", "E": "same", "F": "linear", "G": "same"}
