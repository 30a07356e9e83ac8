"""Tries all paths."""

from itertools import pairwise

import numpy as np

EARNS = "There is no time to try all paths"


def widest_path(bandwidth, a, b):
    def longer(path):
        if path[-1] == b:
            return [path]
        ways = [node for node in np.flatnonzero(bandwidth[path[-1]]).tolist() if node not in path]
        return [end for node in ways for end in longer([*path, node])]

    return max(longer([a]), key=lambda path: min(bandwidth[here, there] for here, there in pairwise(path)))
