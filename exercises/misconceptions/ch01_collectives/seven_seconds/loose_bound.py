"""Takes 7 s for a bound, as the textbook does; real systems are slower after all."""

EARNS = "can 7 s be one?"


def seven_seconds():
    return "ABCD"
