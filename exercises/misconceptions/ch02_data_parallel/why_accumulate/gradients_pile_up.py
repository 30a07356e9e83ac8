"""Without zero_grad gradients pile up in memory."""

EARNS = "what goes wrong in the next update"


def why_accumulate():
    return "BCEGH"
