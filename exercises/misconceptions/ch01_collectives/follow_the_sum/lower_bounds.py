"""Returns the bounds without looking at the list."""

EARNS = "for the list to say"


def follow_the_sum(P, messages):
    return P - 1, 2 * (P - 1)
