"""At least as many ranks as layers."""

EARNS = "48 layers on 8 ranks"


def which_schedule():
    return {
        "A": "GPipe",
        "B": "1F1B",
        "C": "none",
        "D": "none",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "I": "GPipe",
        "J": "interleaved",
        "K": "none",
    }
