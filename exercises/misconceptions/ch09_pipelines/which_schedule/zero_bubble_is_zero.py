"""ZB-H1 has no bubble."""

EARNS = "and its gradients are exact. Who has no steps"


def which_schedule():
    return {
        "A": "GPipe",
        "B": "1F1B",
        "C": "none",
        "D": "none",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "ZB-H1",
        "H": "PipeDream",
        "I": "none",
        "J": "interleaved",
        "K": "none",
    }
