"""Believes that each reads just before it pushes."""

EARNS = "Nobody is late only if"


def how_late(seconds, updates):
    return [0] * updates
