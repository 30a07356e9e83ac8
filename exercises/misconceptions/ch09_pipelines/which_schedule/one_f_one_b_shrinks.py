"""1F1B reduces the bubble."""

EARNS = "It begins with backward passes earlier"


def which_schedule():
    return {
        "A": "GPipe",
        "B": "1F1B",
        "C": "1F1B",
        "D": "none",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "I": "none",
        "J": "interleaved",
        "K": "none",
    }
