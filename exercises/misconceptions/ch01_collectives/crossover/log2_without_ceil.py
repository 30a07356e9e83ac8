"""Forgets that rounds are whole."""

import math

EARNS = "Can a tree have a part of a round?"


def crossover(P, alpha, beta):
    rounds = math.log2(P)
    return (P - 1 - rounds) * alpha / ((rounds - (P - 1) / P) * beta)
