"""Says for how long a gradient was computed."""

import heapq

EARNS = "Both are numbers of one counter"


def how_late(seconds, updates):
    queue = [(time, worker) for worker, time in enumerate(seconds)]
    heapq.heapify(queue)
    read, late = [0] * len(seconds), []
    while len(late) < updates:
        time, worker = heapq.heappop(queue)
        late.append(seconds[worker])
        read[worker] = time
        heapq.heappush(queue, (time + seconds[worker], worker))
    return late
