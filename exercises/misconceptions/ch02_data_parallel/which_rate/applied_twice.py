"""Applies the linear rule to gradients that are summed."""

EARNS = "If the rate is multiplied by 4 on top of that"


def which_rate():
    return {
        "A": "linear",
        "B": "square root",
        "C": "same",
        "D": "same",
        "E": "square root",
        "F": "linear",
        "G": "linear",
    }
