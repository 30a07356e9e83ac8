"""Half the ranks, so the rate falls."""

EARNS = "Accumulation makes up for the ranks that were lost"


def which_rate():
    return {
        "A": "linear",
        "B": "square root",
        "C": "same",
        "D": "square root",
        "E": "square root",
        "F": "linear",
        "G": "same",
    }
