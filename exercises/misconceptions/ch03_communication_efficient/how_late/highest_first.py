"""The last worker pushes first."""

import heapq

EARNS = "the one with the lowest number is first"


def how_late(seconds, updates):
    queue = [(time, -worker) for worker, time in enumerate(seconds)]
    heapq.heapify(queue)
    read, late = [0] * len(seconds), []
    while len(late) < updates:
        time, worker = heapq.heappop(queue)
        worker = -worker
        late.append(len(late) - read[worker])
        read[worker] = len(late)
        heapq.heappush(queue, (time + seconds[worker], -worker))
    return late
