"""Without zero_grad gradients pile up in memory."""

EARNS = "what goes wrong in the next update"


def gains_of_accumulation():
    return "BCEGH"
