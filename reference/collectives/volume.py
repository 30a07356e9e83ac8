"""What each rank sends in an all-reduce: bytes and messages, rank by rank, from formulas and not from the schedule.

Symbols   P ranks, n bytes each; block r of P (or of the fold's core) has n_r bytes, within one element of each other.
Idea      All ranks together send 2 (P - 1) n bytes at least (cost.total_bytes). Schedules differ in who sends them: a
          ring spreads them evenly, a tree loads its inner ranks, a fold gives spare ranks less to do.
Sources   as in the modules that the schedules are in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .binary_tree import tree_parents
from .cost import ring_bytes
from .doubling import core
from .rounds import block_bounds


class Volume(NamedTuple):
    """Bytes and messages that each rank sends: int64, shape [P]."""

    nbytes: np.ndarray
    messages: np.ndarray


def ring_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """2 n - n_r - n_(r + 1) bytes in 2 (P - 1) messages."""
    return Volume(ring_bytes(P, count, itemsize), np.full(P, 2 * (P - 1)))


def direct_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """n - n_r to the owners of the other blocks, then (P - 1) n_r: all of them get this rank's; 2 (P - 1) messages."""
    sizes = np.diff(block_bounds(count, P)) * itemsize
    return Volume(count * itemsize + (P - 2) * sizes, np.full(P, 2 * (P - 1)))


def _with_fold(P: int, nbytes: np.ndarray, messages: int, n: int) -> Volume:
    """What the core sends at each place, by rank: of a pair the even rank sends n more, the odd one only n."""
    extra, rank = P - core(P), np.arange(P)
    paired, spare = rank < 2 * extra, (rank < 2 * extra) & (rank % 2 == 1)
    place = np.where(paired, rank // 2, rank - extra)
    sent = np.where(spare, n, nbytes[place] + paired * n)
    return Volume(sent, np.where(spare, 1, messages + paired))


def recursive_doubling_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """floor(log2 P) n; with a fold n more for even ranks of pairs, and only n for odd ones."""
    rounds, n = core(P).bit_length() - 1, count * itemsize
    return _with_fold(P, np.full(core(P), rounds * n), rounds, n)


def halving_doubling_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """At place m of the core n - n_m while halving; while doubling the aligned 1, 2, 4, ... blocks around block m."""
    C, n = core(P), count * itemsize
    bounds, place = block_bounds(count, C) * itemsize, np.arange(C)
    sent = n - np.diff(bounds)
    for distance in (2**k for k in range(C.bit_length() - 1)):
        first = place & -distance
        sent = sent + bounds[first + distance] - bounds[first]
    return _with_fold(P, sent, 2 * (C.bit_length() - 1), n)


def binomial_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """n up for every rank but 0, and n down for each child: the 2^k > r with r + 2^k < P."""
    powers = 2 ** np.arange(max(P - 1, 0).bit_length())
    rank = np.arange(P)[:, None]
    messages = ((powers > rank) & (rank + powers < P)).sum(axis=1) + (np.arange(P) > 0)
    return Volume(messages * count * itemsize, messages)


def tree_volume(P: int, count: int, itemsize: int = 1, segments: int = 1, trees: int = 1) -> Volume:
    """In each tree its share of n once up, and once down for each child, in `segments` messages each."""
    bounds = block_bounds(count, segments * trees) * itemsize
    nbytes, messages = np.zeros((2, P), np.int64)
    for tree in range(trees):
        share = bounds[(tree + 1) * segments] - bounds[tree * segments]
        for child, parent in enumerate(tree_parents(P, tree)):
            if parent is not None:
                for rank in (child, parent):
                    nbytes[rank] += share
                    messages[rank] += segments
    return Volume(nbytes, messages)
