"""Takes rank 0 for the one that knows the sum first."""

EARNS = "Asked for is when any rank does"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        if first is None and len(knows[0]) == P:
            first = number
        if all_ is None and all(len(known) == P for known in knows):
            all_ = number
    return first, all_
