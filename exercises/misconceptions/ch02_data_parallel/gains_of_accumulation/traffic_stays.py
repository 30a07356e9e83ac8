"""Takes the traffic to stay as it was."""

EARNS = "how often is there an all-reduce with and without"


def gains_of_accumulation():
    return "CEH"
