"""Fills one stage after the other."""

EARNS = "A stage is filled until it has its share"


def partition(seconds, p):
    sizes, total, share = [0], 0, sum(seconds) / p
    for k, each in enumerate(seconds):
        left, stages_left = len(seconds) - k, p - len(sizes)
        if sizes[-1] and stages_left and (total + each > share or left <= stages_left):
            sizes.append(0)
            total = 0
        sizes[-1] += 1
        total += each
    return sizes
