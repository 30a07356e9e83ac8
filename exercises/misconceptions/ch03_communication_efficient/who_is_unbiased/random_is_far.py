"""What is random is no contraction."""

EARNS = "a quarter of a step squared"


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
        "J": "contraction",
        "K": "unbiased",
    }
