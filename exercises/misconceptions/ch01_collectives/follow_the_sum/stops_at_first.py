"""When one rank knows it, it is done."""

EARNS = "When the first rank knows the sum, do the others?"


def follow_the_sum(P, messages):
    knows = [{rank} for rank in range(P)]
    if P == 1:
        return 0, 0
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        if len(knows[receiver]) == P:
            return number, number
    return None, None
