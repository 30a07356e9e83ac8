"""A sender passes on its own number, as in a gather."""

EARNS = "to pass on its own number only"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver].add(sender)
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = number
        if complete == P and all_ is None:
            all_ = number
    return first, all_
