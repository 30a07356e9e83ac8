"""Counts how many numbers have come in, and looks for exactly P."""

EARNS = "come in, until there are P"


def follow_the_sum(P, messages):
    knows = [1] * P
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] += knows[sender]
        if first is None and P in knows:
            first = number
        if all_ is None and all(known == P for known in knows):
            all_ = number
    return first, all_
