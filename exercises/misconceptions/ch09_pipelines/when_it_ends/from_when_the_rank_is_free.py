"""An action that has waited is to last from when its rank was free."""

EARNS = "counts from its start"


def when_it_ends(orders, seconds, send):
    end = {}  # (rank, action): when it ended
    free = [0.0 for _ in orders]  # when the rank has done all so far
    times = [[] for _ in orders]
    while any(len(times[r]) < len(order) for r, order in enumerate(orders)):
        for r, order in enumerate(orders):
            for action in order[len(times[r]) :]:
                needed = (r - 1, action) if action[0] == "F" else (r + 1, action)
                if 0 <= needed[0] < len(orders) and needed not in end:
                    break  # the other ranks have to get on first
                start = max(free[r], end.get(needed, -send) + send)
                end[r, action] = free[r] = free[r] + seconds[action[0]]
                times[r].append((start, end[r, action]))
    return times
