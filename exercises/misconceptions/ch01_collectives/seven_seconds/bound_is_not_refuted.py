"""Sees the limit, and not that the claim is refuted."""

EARNS = "whether 7 s can be called a bound"


def seven_seconds():
    return "CD"
