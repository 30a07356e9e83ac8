"""The way from a to a has width 0, as it has length 0 in Dijkstra's algorithm."""

import heapq

import numpy as np

EARNS = "With what width does a itself begin"


def widest_path(bandwidth, a, b):
    width, came_from, done = {a: 0}, {}, set()
    heap = [(-width[a], a)]
    while heap:
        _, here = heapq.heappop(heap)
        done.add(here)
        for there in np.flatnonzero(bandwidth[here]).tolist():
            new = min(width[here], bandwidth[here, there])
            if there not in done and new > width.get(there, 0):
                width[there], came_from[there] = new, here
                heapq.heappush(heap, (-new, there))
    path = [b]
    while path[-1] != a:
        path.append(came_from[path[-1]])
    return path[::-1]
