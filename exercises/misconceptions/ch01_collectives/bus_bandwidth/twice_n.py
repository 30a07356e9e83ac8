"""Everything is sent twice."""

EARNS = "nobody has to send all of its n bytes twice"


def bus_bandwidth(P, n, seconds):
    return 2 * n / seconds
