"""Finds 6.125 s, and does not ask where 7 s comes from."""

EARNS = "does it grow or shrink, and towards what?"


def seven_seconds():
    return "BD"
