"""Computes first and sends then."""

EARNS = "Nothing overlaps in your sum"


def step_time(forward, backward, communication):
    return forward + sum(backward) + sum(communication)
