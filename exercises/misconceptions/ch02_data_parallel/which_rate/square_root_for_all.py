"""The square root, for every optimizer."""

EARNS = "16 small steps in about the same direction"


def which_rate():
    return {
        "A": "square root",
        "B": "square root",
        "C": "same",
        "D": "same",
        "E": "square root",
        "F": "square root",
        "G": "same",
    }
