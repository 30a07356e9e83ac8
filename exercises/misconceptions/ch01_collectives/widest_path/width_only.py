"""Returns how wide it is."""

import heapq
import math

EARNS = "It should return a list of nodes"


def widest_path(bandwidth, a, b):
    best, came_from = {a: -math.inf}, {}
    heap = [(-math.inf, a)]
    while heap:
        length, here = heapq.heappop(heap)
        for there, link in enumerate(bandwidth[here]):
            if link == 0:
                continue
            longer = max(length, -link)
            if longer < best.get(there, math.inf):
                best[there], came_from[there] = longer, here
                heapq.heappush(heap, (longer, there))
    return -best[b]
