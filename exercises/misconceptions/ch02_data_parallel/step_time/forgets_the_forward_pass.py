"""Begins to count with the backward pass."""

EARNS = "The forward pass is missing"


def step_time(forward, backward, communication):
    full = through = 0
    for computing, sending in zip(backward, communication):
        full += computing
        through = max(full, through) + sending
    return through
