"""Trusts the wrapper to know that more micro-batches follow."""

EARNS = "Who tells the wrapper"


def gains_of_accumulation():
    return "BCE"
