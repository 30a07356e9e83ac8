"""Sends without a pause once the first bucket is full."""

EARNS = "when is the last bucket full?"


def step_time(forward, backward, communication):
    return forward + backward[0] + sum(communication)
