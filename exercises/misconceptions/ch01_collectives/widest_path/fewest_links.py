"""The shortest path, by the number of links."""

import heapq
import math

EARNS = "Yours has the fewest links"


def widest_path(bandwidth, a, b):
    best, came_from = {a: 0}, {}
    heap = [(0, a)]
    while heap:
        length, here = heapq.heappop(heap)
        for there, link in enumerate(bandwidth[here]):
            if link == 0:
                continue
            longer = length + 1
            if longer < best.get(there, math.inf):
                best[there], came_from[there] = longer, here
                heapq.heappush(heap, (longer, there))
    path = [b]
    while path[-1] != a:
        path.append(came_from[path[-1]])
    return path[::-1]
