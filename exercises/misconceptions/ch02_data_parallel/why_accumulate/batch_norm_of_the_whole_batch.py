"""BatchNorm sees the large batch, too."""

EARNS = "BatchNorm computes its statistics in the forward pass"


def why_accumulate():
    return "BCEFH"
