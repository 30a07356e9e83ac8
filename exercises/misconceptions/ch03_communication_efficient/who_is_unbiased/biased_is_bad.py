"""Biased, so good for nothing."""

EARNS = "at most which part of |x|^2 is that"


def who_is_unbiased():
    return {
        "A": "neither",
        "B": "unbiased",
        "C": "contraction",
        "D": "contraction",
        "E": "unbiased",
        "F": "neither",
        "G": "unbiased",
        "H": "contraction",
        "I": "neither",
        "J": "contraction",
        "K": "both",
    }
