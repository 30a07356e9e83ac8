"""Returns the number of all messages where it never comes to pass."""

EARNS = "it never comes to pass that"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    first, all_ = (0, 0) if P == 1 else (None, None)
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = number
        if complete == P and all_ is None:
            all_ = number
    return (len(messages) if first is None else first), (len(messages) if all_ is None else all_)
