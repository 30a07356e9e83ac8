"""Divides by 8."""

EARNS = "A part of a byte cannot be sent"


def top_k_bytes(d, k):
    return 4 * k + k * (d - 1).bit_length() / 8
