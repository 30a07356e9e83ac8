"""Leaves the rate alone."""

EARNS = "With the same rate SGD moves 16 times less far"


def which_rate():
    return {"A": "same", "B": "same", "C": "same", "D": "same", "E": "same", "F": "same", "G": "same"}
