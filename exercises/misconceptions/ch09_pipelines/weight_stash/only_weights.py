"""Returns the weights only."""

EARNS = "Return two things"


def weight_stash(w, order, forward, backward, rate):
    stash, version, most = {}, "the first", 1
    for action in order:
        i = int(action[1:])
        if action[0] == "F":
            stash[i] = version, w, forward(w, i)
        else:
            _, used, left = stash.pop(i)
            w = w - rate * backward(used, i, left)
            version = f"after {action}"
            most = max(most, len({each for each, _, _ in stash.values()} | {version}))
    return w.copy()
