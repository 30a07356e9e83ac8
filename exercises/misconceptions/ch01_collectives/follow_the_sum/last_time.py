"""Overwrites the number whenever it holds again."""

EARNS = "It is so after the last message, too"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete:
            first = number
        if complete == P:
            all_ = number
    return first, all_
