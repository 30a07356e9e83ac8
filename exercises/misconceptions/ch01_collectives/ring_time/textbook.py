"""Every rank sends its n bytes twice: the textbook's 7 s."""

EARNS = "is there a block that a rank never"


def ring_time(P, n, alpha, beta):
    return 2 * n * beta
