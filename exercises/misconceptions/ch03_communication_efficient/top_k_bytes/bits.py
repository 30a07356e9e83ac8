"""Forgets that a byte has 8."""

EARNS = "not bits"


def top_k_bytes(d, k):
    return 32 * k + k * (d - 1).bit_length()
