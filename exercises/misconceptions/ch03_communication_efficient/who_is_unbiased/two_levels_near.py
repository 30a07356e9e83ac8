"""Thinks of two levels as near."""

EARNS = "the 999 others become"


def who_is_unbiased():
    return {
        "A": "contraction",
        "B": "unbiased",
        "C": "contraction",
        "D": "contraction",
        "E": "unbiased",
        "F": "neither",
        "G": "both",
        "H": "contraction",
        "I": "neither",
        "J": "contraction",
        "K": "both",
    }
