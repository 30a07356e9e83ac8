"""Answers in words."""

EARNS = "Return letters from A to F and nothing else"


def seven_seconds():
    return "B, C and D, since 6.125 s < 7 s"
