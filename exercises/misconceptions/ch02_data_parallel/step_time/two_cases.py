"""Either the network waits always, or never."""

EARNS = "it waits for some bucket in the middle"


def step_time(forward, backward, communication):
    computing = sum(backward) + communication[-1]
    sending = backward[0] + sum(communication)
    return forward + max(computing, sending)
