"""The additive objective."""

EARNS = "and the first one found wins"


def partition(seconds, p):
    N, upto = len(seconds), [0]
    for each in seconds:
        upto.append(upto[-1] + each)
    best = {i: (upto[i], [i]) for i in range(1, N + 1)}
    for r in range(2, p + 1):
        best = {
            i: min(
                ((best[k][0] + upto[i] - upto[k], [*best[k][1], i - k]) for k in range(r - 1, i)),
                key=lambda way: way[0],
            )
            for i in range(r, N + 1)
        }
    return best[N][1]
