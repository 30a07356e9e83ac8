"""Takes the direct link if there is one."""

import heapq
import math

EARNS = "You took the direct link because there is one"


def widest_path(bandwidth, a, b):
    if bandwidth[a, b] > 0:
        return [a, b]

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
    return path[::-1]
