"""Somebody clever will find a quicker algorithm."""

EARNS = "how many bytes must a rank send on average"


def seven_seconds():
    return "BC"
