"""Twice the ranks, twice the rate."""

EARNS = "Twice the ranks with half the samples each"


def which_rate():
    return {
        "A": "linear",
        "B": "square root",
        "C": "linear",
        "D": "same",
        "E": "square root",
        "F": "linear",
        "G": "same",
    }
