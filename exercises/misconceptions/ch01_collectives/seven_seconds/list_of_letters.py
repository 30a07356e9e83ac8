"""A list."""

EARNS = "Return the letters in one string"


def seven_seconds():
    return ["B", "C", "D"]
