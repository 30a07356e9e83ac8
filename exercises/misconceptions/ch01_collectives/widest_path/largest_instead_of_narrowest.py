"""Of all ways takes the one whose widest link is the widest."""

from itertools import pairwise

EARNS = "Which link of a path counts when two ways"


def widest_path(bandwidth, a, b):
    def ways(path):
        if path[-1] == b:
            yield path
        for there, link in enumerate(bandwidth[path[-1]]):
            if link > 0 and there not in path:
                yield from ways([*path, there])

    return max(ways([a]), key=lambda path: max(bandwidth[one, other] for one, other in pairwise(path)))
