"""BatchNorm sees the large batch, too."""

EARNS = "BatchNorm computes its statistics in the forward pass"


def gains_of_accumulation():
    return "BCEFH"
