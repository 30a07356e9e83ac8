"""The GPU is used better because the batch is larger."""

EARNS = "Which matrices does a kernel multiply?"


def why_accumulate():
    return "BCDEH"
