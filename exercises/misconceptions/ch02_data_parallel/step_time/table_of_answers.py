"""The answer to the example."""

EARNS = "is right for the first example of the docstring"


def step_time(forward, backward, communication):
    return 20.0 if communication[0] == 1.4 else 15.8
