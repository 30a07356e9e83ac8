"""A bit for each number says whether it is sent."""

EARNS = "That is a bitmap"


def top_k_bytes(d, k):
    return 4 * k + (d + 7) // 8
