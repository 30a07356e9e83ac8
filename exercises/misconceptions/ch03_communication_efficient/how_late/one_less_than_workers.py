"""Everybody is P - 1 late."""

EARNS = "P - 1 is right when"


def how_late(seconds, updates):
    return [len(seconds) - 1] * updates
