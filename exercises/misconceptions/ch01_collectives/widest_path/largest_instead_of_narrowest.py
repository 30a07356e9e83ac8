"""Keeps the widest link of a path in place of its narrowest."""

import heapq
import math

EARNS = "of two ways the wider counts"


def widest_path(bandwidth, a, b):
    best, came_from = {a: 0.0}, {}
    heap = [(0.0, a)]
    while heap:
        length, here = heapq.heappop(heap)
        for there, link in enumerate(bandwidth[here]):
            if link == 0:
                continue
            longer = min(length, -link)
            if longer < best.get(there, math.inf):
                best[there], came_from[there] = longer, here
                heapq.heappush(heap, (longer, there))
    path = [b]
    while path[-1] != a:
        path.append(came_from[path[-1]])
    return path[::-1]
