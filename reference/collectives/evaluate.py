"""The time of a schedule for all ranks at once, without running it: 10,000 ranks in seconds.

A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Then a round of the
virtual cluster is a few vector operations on the ranks' clocks: a transfer starts when both its ends have come to it,
and a rank goes on when what it sends and what it receives have arrived. On a uniform network this is not an estimate
but the same arithmetic as the engine's, and equal to it to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .rounds import Round, block_bounds


class Evaluation(NamedTuple):
    """Per rank: `clocks` when it is through (s), `bytes_sent`, `messages`; arrays of shape [P]."""

    clocks: np.ndarray
    bytes_sent: np.ndarray
    messages: np.ndarray

    @property
    def seconds(self) -> float:
        """The makespan."""
        return float(self.clocks.max())


def evaluate(
    rounds: Callable[[np.ndarray, int], Iterator[Round]],
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
) -> Evaluation:
    """Time the schedule `rounds(rank, ranks)` for P ranks on a uniform network; count elements of itemsize bytes.

    The schedule must be regular: in each of its rounds every rank sends to one rank and receives from one.
    Raises ValueError if a round is not a permutation.
    """
    bounds = block_bounds(count, P) * itemsize
    ranks = np.arange(P)
    clocks, bytes_sent, messages = np.zeros(P), np.zeros(P, np.int64), 0
    for to, (lo, hi), source, (first, last), combine in rounds(ranks, P):
        if not np.array_equal(to[source], ranks):
            raise ValueError("in some round a rank does not receive what another one sends to it")
        outgoing = bounds[hi] - bounds[lo]
        sent = np.maximum(clocks, clocks[to]) + (alpha + outgoing * beta)  # when what this rank sends has arrived
        clocks = np.maximum(sent, sent[source])
        if combine and gamma:
            clocks = clocks + (bounds[last] - bounds[first]) * gamma
        bytes_sent += outgoing
        messages += 1
    return Evaluation(clocks, bytes_sent, np.full(P, messages))
