"""Looks only after messages, so one rank never knows its own number."""

EARNS = "The only rank knows the sum before anything is sent"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = None, None
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = number
        if complete == P and all_ is None:
            all_ = number
    return first, all_
