"""Counts the gradient's own update as well."""

import heapq

EARNS = "One too many each"


def how_late(seconds, updates):
    queue = [(time, worker) for worker, time in enumerate(seconds)]
    heapq.heapify(queue)
    read, late = [0] * len(seconds), []
    while len(late) < updates:
        time, worker = heapq.heappop(queue)
        late.append(len(late) - read[worker] + 1)
        read[worker] = len(late)
        heapq.heappush(queue, (time + seconds[worker], worker))
    return late
