"""Always 1 %."""

EARNS = "A fixed share is a habit"


def how_many_to_send(d, P, alpha, beta, codec, window):
    return max(1, d // 100)
