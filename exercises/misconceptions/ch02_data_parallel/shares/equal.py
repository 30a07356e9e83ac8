"""Equal shares."""

EARNS = "Equal shares: all wait for the slowest rank"


def shares(speeds, batch):
    return [batch // len(speeds) + (r < batch % len(speeds)) for r in range(len(speeds))]
