"""Keeps what it has."""

EARNS = "Both partners have returned what they had"


def gossip_step(comm, x, partner):
    return x.copy()
