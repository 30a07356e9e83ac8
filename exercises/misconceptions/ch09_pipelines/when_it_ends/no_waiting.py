"""Waits for nobody."""

EARNS = "whether or not what it needs has come"


def when_it_ends(orders, seconds, send):
    end = {}
    free = [0.0 for _ in orders]
    times = [[] for _ in orders]
    while any(len(times[r]) < len(order) for r, order in enumerate(orders)):
        for r, order in enumerate(orders):
            for action in order[len(times[r]) :]:
                needed = (r - 1, action) if action[0] == "F" else (r + 1, action)
                if 0 <= needed[0] < len(orders) and needed not in end:
                    break
                start = free[r]
                end[r, action] = free[r] = start + seconds[action[0]]
                times[r].append((start, end[r, action]))
    return times
