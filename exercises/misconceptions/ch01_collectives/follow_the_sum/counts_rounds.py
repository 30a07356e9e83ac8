"""Counts steps in which messages go at the same time."""

EARNS = "You count rounds"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    last = [0] * P
    first, all_ = (0, 0) if P == 1 else (None, None)
    for sender, receiver in messages:
        last[sender] = last[receiver] = step = 1 + max(last[sender], last[receiver])
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = step
        if complete == P and all_ is None:
            all_ = step
    return first, all_
