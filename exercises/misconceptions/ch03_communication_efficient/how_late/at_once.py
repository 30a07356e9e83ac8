"""Lets those that push at the same time push at once."""

EARNS = "late by the first one's update"


def how_late(seconds, updates):
    nxt = list(seconds)
    read = [0] * len(seconds)
    late = []
    t = 0
    while len(late) < updates:
        now = min(nxt)
        who = [w for w in range(len(nxt)) if nxt[w] == now]
        t0 = t
        for w in who:
            late.append(t0 - read[w])
            t += 1
        for w in who:
            read[w] = t
            nxt[w] += seconds[w]
    return late[:updates]
