"""Sends larger messages, as textbooks say."""

EARNS = "How many numbers has the sum of"


def why_accumulate():
    return "ABCEH"
