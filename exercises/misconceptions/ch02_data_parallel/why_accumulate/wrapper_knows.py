"""Trusts the wrapper to know that more micro-batches follow."""

EARNS = "Who tells the wrapper"


def why_accumulate():
    return "BCE"
