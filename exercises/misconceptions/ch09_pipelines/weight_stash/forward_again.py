"""Repeats the forward pass with the latest weights."""

EARNS = "The forward pass is done again"


def weight_stash(w, order, forward, backward, rate):
    stash, version, most = {}, "the first", 1
    for action in order:
        i = int(action[1:])
        if action[0] == "F":
            stash[i] = version, w, forward(w, i)
        else:
            stash.pop(i)
            w = w - rate * backward(w, i, forward(w, i))
            version = f"after {action}"
            most = max(most, len({each for each, _, _ in stash.values()} | {version}))
    return w.copy(), most
