"""The larger of the two instead of the smaller, over and over."""

import heapq

import numpy as np

EARNS = "it went round in a circle"


def widest_path(bandwidth, a, b):
    width, came_from, done = {a: 0}, {}, set()
    heap = [(-width[a], a)]
    while heap:
        _, here = heapq.heappop(heap)
        done.add(here)
        for there in np.flatnonzero(bandwidth[here]).tolist():
            new = max(width[here], bandwidth[here, there])
            if new > width.get(there, 0):
                width[there], came_from[there] = new, here
                heapq.heappush(heap, (-new, there))
    path = [b]
    while path[-1] != a and len(path) < 99:
        path.append(came_from[path[-1]])
    return path[::-1]
