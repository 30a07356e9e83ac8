"""Takes signs times |x| for a contraction, because its signs are right."""

EARNS = "Other lengths would do"


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
        "I": "contraction",
        "J": "contraction",
        "K": "both",
    }
