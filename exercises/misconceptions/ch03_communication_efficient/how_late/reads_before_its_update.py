"""Reads before its own update."""

import heapq

EARNS = "reads after its own update"


def how_late(seconds, updates):
    events = [(s, w) for w, s in enumerate(seconds)]
    heapq.heapify(events)
    read = [0] * len(seconds)
    late = []
    for t in range(updates):
        now, w = heapq.heappop(events)
        late.append(t - read[w])
        read[w] = t
        heapq.heappush(events, (now + seconds[w], w))
    return late
