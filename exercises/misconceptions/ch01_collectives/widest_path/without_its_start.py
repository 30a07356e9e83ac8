"""Leaves out the node where it begins."""

import heapq
import math

EARNS = "Both ends belong to the path"


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
    path = [b]
    while path[-1] != a:
        path.append(came_from[path[-1]])
    return path[-2::-1]
