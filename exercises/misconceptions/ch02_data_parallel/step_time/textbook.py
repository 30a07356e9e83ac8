"""The formula that one finds everywhere: the larger of the two."""

EARNS = "That is max(computing, communication)"


def step_time(forward, backward, communication):
    return max(forward + sum(backward), sum(communication))
