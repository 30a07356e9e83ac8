"""Rounds down; those that lost most get one more."""

EARNS = "went to those who lost most by rounding down"


def shares(speeds, batch):
    exact = [batch * speed / sum(speeds) for speed in speeds]
    given = [int(share) for share in exact]
    order = sorted(range(len(speeds)), key=lambda r: given[r] - exact[r])
    for r in order[: batch - sum(given)]:
        given[r] += 1
    return given
