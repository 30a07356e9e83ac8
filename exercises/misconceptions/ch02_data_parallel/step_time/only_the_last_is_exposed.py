"""Hides all all-reduces but the last, as folklore about overlap has it."""

EARNS = "the queue grows"


def step_time(forward, backward, communication):
    return forward + sum(backward) + communication[-1]
