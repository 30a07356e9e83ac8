"""Sends the zeros, too."""

EARNS = "That is the whole gradient"


def top_k_bytes(d, k):
    return 4 * d
