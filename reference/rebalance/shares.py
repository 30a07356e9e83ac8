"""Shares: how many units each rank should have, how far to go in one move, and who gives what to whom.

Idea      A rank that is half as fast gets half as much: size_i = base * speed_i / mean speed. Units are whole, so the
          seconds of the slowest rank are minimised over whole numbers (data_parallel.stragglers.proportional).
          A move then takes a small part of the way: a measurement that was wrong does little harm, and the move fits
          beside training. Ranks of one node trade with each other first.
Before    16 16 16 16, speeds 1 1 1 .5     the slowest needs 32 s
After     19 18 18  9                      it needs 19 s (18.29 if units could be cut)
Exact     Shares add up to all units, before, between and after.
Left out  Units that must stay adjacent, as the layers of a pipeline: there only neighbours can trade (pipeline.sizing).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data_parallel.stragglers import proportional


class Transfer(NamedTuple):
    """`units` units go from rank `source` to rank `dest`."""

    source: int
    dest: int
    units: int


def target(units: int, speeds: Sequence[float]) -> list[int]:
    """The shares in proportion to speed, at least one unit each, because a rank without work cannot be measured.

    Raises ValueError if there are fewer units than ranks, or a speed is not above 0.
    """
    if units < len(speeds):
        raise ValueError(f"{units} units cannot give each of {len(speeds)} ranks one")
    shares = proportional(units, speeds)
    while not all(shares):
        busiest = max((rank for rank, n in enumerate(shares) if n > 1), key=lambda rank: shares[rank] / speeds[rank])
        shares[shares.index(0)] += 1
        shares[busiest] -= 1
    return shares


def limited(shares: Sequence[int], goal: Sequence[int], fraction: float) -> list[int]:
    """As far from `shares` towards `goal` as the transfer of `fraction` of all units goes, at least of one unit.

    Raises ValueError unless 0 < fraction <= 1 and both have the same sum.
    """
    if not 0 < fraction <= 1 or sum(shares) != sum(goal):
        raise ValueError(f"0 < fraction <= 1 and equal sums, got {fraction=}, {sum(shares)} and {sum(goal)} units")
    change = [after - before for before, after in zip(shares, goal)]
    most = max(1, int(fraction * sum(shares)))
    if sum(max(n, 0) for n in change) <= most:
        return list(goal)
    taken, given = (_part_of([max(sign * n, 0) for n in change], most) for sign in (1, -1))
    return [n + plus - minus for n, plus, minus in zip(shares, taken, given)]


def _part_of(amounts: list[int], units: int) -> list[int]:
    """`units` in proportion to amounts that add up to more: rounded down, and the largest remainders up."""
    scaled = [divmod(amount * units, sum(amounts)) for amount in amounts]
    parts = [whole for whole, _ in scaled]
    up = sorted(range(len(parts)), key=lambda rank: -scaled[rank][1])[: units - sum(parts)]
    return [n + (rank in up) for rank, n in enumerate(parts)]


def transfers(shares: Sequence[int], goal: Sequence[int], nodes: Sequence[int] | None = None) -> list[Transfer]:
    """Who gives how many units to whom, the least that leads from `shares` to `goal`; within a node first.

    nodes: the node of each rank; all on one, if None.
    """
    nodes = nodes or [0] * len(shares)
    given = {rank: n - after for rank, (n, after) in enumerate(zip(shares, goal)) if n > after}
    taken = {rank: after - n for rank, (n, after) in enumerate(zip(shares, goal)) if n < after}
    found = []
    for near in (True, False):
        for source, dest in ((s, d) for s in given for d in taken if (nodes[s] == nodes[d]) == near):
            if n := min(given[source], taken[dest]):
                found.append(Transfer(source, dest, n))
                given[source] -= n
                taken[dest] -= n
    return found


def reassigned(owner: np.ndarray, moves: Sequence[Transfer]) -> np.ndarray:
    """The owner of each unit after these transfers, [units]; a rank gives away its last units."""
    after = owner.copy()
    for source, dest, units in moves:
        own = np.flatnonzero(after == source)
        if units > len(own):
            raise ValueError(f"rank {source} has {len(own)} units and cannot give {units}")
        after[own[len(own) - units :]] = dest
    return after
