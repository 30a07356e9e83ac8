"""Takes an unbiased compressor for a contraction as well."""

EARNS = "multiplied by 100 and the others become 0"


def who_is_unbiased():
    return {
        "A": "contraction",
        "B": "both",
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
