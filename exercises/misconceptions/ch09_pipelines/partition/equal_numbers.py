"""As many layers in each stage."""

EARNS = "Every stage has the same number of layers"


def partition(seconds, p):
    N = len(seconds)
    return [N // p + (r < N % p) for r in range(p)]
