"""Takes the update for something else than that of the large batch."""

EARNS = "in which portions the sum is taken"


def why_accumulate():
    return "BCH"
