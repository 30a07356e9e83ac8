"""Forgets that heapq gives out the smallest first."""

import heapq

import numpy as np

EARNS = "Yours has the narrowest link of all"


def widest_path(bandwidth, a, b):
    width, came_from, done = {a: np.inf}, {}, set()
    heap = [(width[a], a)]
    while heap:
        _, here = heapq.heappop(heap)
        done.add(here)
        for there in np.flatnonzero(bandwidth[here]).tolist():
            new = min(width[here], bandwidth[here, there])
            if there not in done and new > width.get(there, 0):
                width[there], came_from[there] = new, here
                heapq.heappush(heap, (new, there))
    path = [b]
    while path[-1] != a:
        path.append(came_from[path[-1]])
    return path[::-1]
