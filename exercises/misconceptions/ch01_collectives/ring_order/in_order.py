"""Ranks in the order of their numbers, as libraries do unless told otherwise."""

EARNS = "Every time costs a long hop"


def ring_order(seconds):
    return list(range(len(seconds)))
