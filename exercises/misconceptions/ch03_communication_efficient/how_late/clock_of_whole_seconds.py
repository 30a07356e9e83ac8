"""Looks at the clock once a second."""

EARNS = "from push to push"


def how_late(seconds, updates):
    read = [0] * len(seconds)
    late = []
    now = 0
    while len(late) < updates:
        now += 1
        for w, s in enumerate(seconds):
            if now % s == 0 and len(late) < updates:
                late.append(len(late) - read[w])
                read[w] = len(late)
    return late
