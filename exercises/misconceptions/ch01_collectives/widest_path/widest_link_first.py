"""Takes at every node the widest link to a new one."""

import numpy as np

EARNS = "keep the other ways open"


def widest_path(bandwidth, a, b):
    path = [a]

    def go_on():
        if path[-1] == b:
            return True
        for there in np.argsort(-bandwidth[path[-1]]).tolist():
            if bandwidth[path[-1], there] > 0 and there not in path:
                path.append(there)
                if go_on():
                    return True
                path.pop()
        return False

    go_on()
    return path
