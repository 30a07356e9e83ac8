"""A schedule whose positions are played by other ranks than those of the same number, and what it sends between them.

Idea      A schedule speaks of positions 0, ..., P-1. Which rank plays which is open, and on most networks it matters
          (networks/placement.py finds the order). `traffic` counts the schedule's bytes from position to position;
          `placed` is the same schedule with position i played by rank order[i].
          In MPI comm.Split(0, position) makes a communicator whose rank i is rank order[i], and no schedule has to
          know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import mpi
from ..networks.placement import at_least_one, permutation
from .rounds import Round, block_bounds, within


def traffic(
    rounds: Callable[..., Iterator[Round]], P: int, count: int, itemsize: int, blocks: int | None = None, **options
) -> np.ndarray:
    """w, int64 [P, P]: the bytes that position i sends to position j in the schedule `rounds(rank, ranks, **options)`.

    The array has count elements of itemsize bytes, in `blocks` blocks (P unless told), as for `evaluate`.
    Raises ValueError if P < 1.
    """
    at_least_one(P)
    bounds = block_bounds(count, P if blocks is None else blocks) * itemsize
    bounds = np.concatenate([bounds, bounds[1:] + bounds[-1]])  # a range may run past the last block
    i, w = np.arange(P), np.zeros((P, P), np.int64)
    for to, (lo, hi), *_ in rounds(i, P, **options):
        _, to, size = np.broadcast_arrays(i, to, bounds[hi] - bounds[lo])
        senders = np.flatnonzero(to != mpi.PROC_NULL)
        w[senders, to[senders]] += size[senders]
    return w


def placed(rounds: Callable[..., Iterator[Round]], order: Sequence[int]) -> Callable[..., Iterator[Round]]:
    """The same schedule with position i played by rank order[i]: a generator function of (rank, ranks, **options).

    Blocks and options keep their meaning by position: block i, and root=i, belong to rank order[i]. An all-reduce does
    not notice; after a reduce-scatter rank order[i] has block i.
    Raises ValueError if order is not a permutation, and when called for another number of ranks.
    """
    ranks_of = permutation(order, len(order))
    position = np.argsort(ranks_of)  # the inverse: which position a rank plays

    def placed_rounds(rank, ranks: int, **options) -> Iterator[Round]:
        if ranks != len(order):
            raise ValueError(f"an order of {len(order)} positions on {ranks} ranks: make one for {ranks}")
        plays, player = (position, ranks_of) if isinstance(rank, np.ndarray) else (position.tolist(), ranks_of.tolist())
        return within(rounds(plays[rank], ranks, **options), lambda g: player[g % ranks])  # % for PROC_NULL

    return placed_rounds
