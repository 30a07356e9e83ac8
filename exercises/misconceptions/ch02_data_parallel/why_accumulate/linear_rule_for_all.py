"""The linear rule, for every optimizer."""

EARNS = "Is there one for every optimizer?"


def why_accumulate():
    return "BCEHI"
