"""Updates in the end."""

EARNS = "that is a flush"


def weight_stash(w, order, forward, backward, rate):
    stash, version, most, total = {}, "the first", 1, 0.0
    for action in order:
        i = int(action[1:])
        if action[0] == "F":
            stash[i] = version, w, forward(w, i)
        else:
            _, used, left = stash.pop(i)
            total = total + rate * backward(used, i, left)
            version = f"after {action}"
            most = max(most, len({each for each, _, _ in stash.values()} | {version}))
    return w - total, most
