"""ZB-H1 keeps less."""

EARNS = "freed when its last part is done"


def which_schedule():
    return {
        "A": "GPipe",
        "B": "1F1B",
        "C": "none",
        "D": "ZB-H1",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "I": "none",
        "J": "interleaved",
        "K": "none",
    }
