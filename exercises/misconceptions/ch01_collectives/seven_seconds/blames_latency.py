"""Explains the difference by what was left out."""

EARNS = "what do so many times 5 us add up"


def seven_seconds():
    return "BCDE"
