"""Takes the update for something else than that of the large batch."""

EARNS = "in which portions the sum is taken"


def gains_of_accumulation():
    return "BCH"
