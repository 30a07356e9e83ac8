"""Drops the last bits."""

EARNS = "Rounded down: the last bits"


def top_k_bytes(d, k):
    return 4 * k + k * (d - 1).bit_length() // 8
