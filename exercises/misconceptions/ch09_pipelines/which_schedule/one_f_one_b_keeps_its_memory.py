"""1F1B's memory does not depend on m."""

EARNS = "If each is half as large"


def which_schedule():
    return {
        "A": "1F1B",
        "B": "1F1B",
        "C": "none",
        "D": "none",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "I": "none",
        "J": "interleaved",
        "K": "none",
    }
