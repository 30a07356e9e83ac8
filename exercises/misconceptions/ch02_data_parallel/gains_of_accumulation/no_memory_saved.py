"""Does not see what memory is for."""

EARNS = "After the backward pass of a micro-batch"


def gains_of_accumulation():
    return "BEH"
