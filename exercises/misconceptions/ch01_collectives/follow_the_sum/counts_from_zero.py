"""The index of the message, not how many were sent."""

EARNS = "Off by one"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 0):
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = number
        if complete == P and all_ is None:
            all_ = number
    return first, all_
