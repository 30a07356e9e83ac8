"""Halves the time with the size of the blocks."""

EARNS = "Work out the seconds for 16 ranks"


def seven_seconds():
    return "BCDF"
