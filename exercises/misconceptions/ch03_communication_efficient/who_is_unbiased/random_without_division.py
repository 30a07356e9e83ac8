"""Takes what is drawn at random for unbiased, divided by p or not."""

EARNS = "What is the mean of what becomes of it?"


def who_is_unbiased():
    return {
        "A": "contraction",
        "B": "unbiased",
        "C": "unbiased",
        "D": "contraction",
        "E": "unbiased",
        "F": "neither",
        "G": "unbiased",
        "H": "contraction",
        "I": "neither",
        "J": "contraction",
        "K": "both",
    }
