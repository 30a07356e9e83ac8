"""Takes out the narrowest links, in the caller's array, as long as there is a path."""

import numpy as np

EARNS = "The caller still needs its bandwidth"


def widest_path(bandwidth, a, b):
    path = []
    for width in np.unique(bandwidth):
        bandwidth[bandwidth < width] = 0
        came_from, queue = {a: a}, [a]
        for here in queue:
            for there in np.flatnonzero(bandwidth[here]).tolist():
                if there not in came_from:
                    came_from[there] = here
                    queue.append(there)
        if b not in came_from:
            return path[::-1]
        path = [b]
        while path[-1] != a:
            path.append(came_from[path[-1]])
    return path[::-1]
