"""Believes that the one-bit quantiser with |x_i| over the sum is unbiased."""

EARNS = "the sign of x_i is nowhere in the formula"


def who_is_unbiased():
    return {
        "A": "contraction",
        "B": "unbiased",
        "C": "contraction",
        "D": "contraction",
        "E": "unbiased",
        "F": "unbiased",
        "G": "unbiased",
        "H": "contraction",
        "I": "neither",
        "J": "contraction",
        "K": "both",
    }
