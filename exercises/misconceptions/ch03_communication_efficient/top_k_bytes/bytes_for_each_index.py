"""Rounds every index up to bytes."""

EARNS = "rounded up to whole bytes by itself"


def top_k_bytes(d, k):
    return 4 * k + k * (((d - 1).bit_length() + 7) // 8)
