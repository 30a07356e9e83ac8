"""The linear rule, for every optimizer."""

EARNS = "Is there one for every optimizer?"


def gains_of_accumulation():
    return "BCEHI"
