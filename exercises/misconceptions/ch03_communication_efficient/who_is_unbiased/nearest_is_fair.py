"""Rounding to nearest is right on average."""

EARNS = "0.3 always becomes 0"


def who_is_unbiased():
    return {
        "A": "contraction",
        "B": "unbiased",
        "C": "contraction",
        "D": "contraction",
        "E": "unbiased",
        "F": "neither",
        "G": "unbiased",
        "H": "contraction",
        "I": "neither",
        "J": "both",
        "K": "both",
    }
