"""Counts how many numbers have come in, also if they are the same ones."""

EARNS = "You count numbers that have come in. What"


def follow_the_sum(P, messages):
    knows = [1] * P
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] += knows[sender]
        if first is None and max(knows) >= P:
            first = number
        if all_ is None and min(knows) >= P:
            all_ = number
    return first, all_
