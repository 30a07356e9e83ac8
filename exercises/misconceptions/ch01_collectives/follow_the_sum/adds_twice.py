"""Adds in numbers: what comes twice counts twice."""

import numpy as np

EARNS = "seems to be added again"


def follow_the_sum(P, messages):
    knows = np.eye(P)
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] += knows[sender]
        complete = (knows == 1).all(axis=1)
        if first is None and complete.any():
            first = number
        if all_ is None and complete.all():
            all_ = number
    return first, all_
