"""Sends larger messages, as textbooks say."""

EARNS = "How many numbers has the sum of"


def gains_of_accumulation():
    return "ABCEH"
