"""The GPU is used better because the batch is larger."""

EARNS = "Which matrices does a kernel multiply?"


def gains_of_accumulation():
    return "BCDEH"
