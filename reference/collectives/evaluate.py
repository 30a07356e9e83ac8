"""The time of a schedule for all ranks at once, without running it: 10,000 ranks in seconds.

A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Then a round of the
virtual cluster is a few vector operations on the ranks' clocks: a transfer starts when both its ends have come to it
and their ports are free, and a rank goes on when what it sends and what it receives have arrived. On a uniform network
this is not an estimate but the same arithmetic as the engine's, and equal to it to the last bit. One exception: rounds
that are posted together, with blocks of unequal size; there the engine lets ranks get out of step, and this does not.

On a network of several levels a message also holds the cables of its way. If no two messages want one cable at a time,
that is exact, too. Else it is an estimate: messages of one round queue for cables in the order in which they are ready,
and a round has all its cables before the next one; the engine lets pass whatever finds its way free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .. import mpi
from ..networks.network import Network
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


class _Group(NamedTuple):
    """The state within a group of rounds that are posted together; arrays of shape [P], in seconds."""

    posted: np.ndarray  # when each rank posted them
    sent: np.ndarray  # when its outgoing port is free
    received: np.ndarray  # when its incoming port is free
    combined: np.ndarray  # when what has come is combined


def evaluate(
    rounds: Callable[..., Iterator[Round]],
    P: int,
    count: int,
    itemsize: int,
    network: Network,
    blocks: int | None = None,
    **options,
) -> Evaluation:
    """Time the schedule `rounds(rank, ranks, **options)` for P ranks and count elements of itemsize bytes.

    The array is cut into `blocks` blocks, P unless told.

    Every rank must yield the same number of rounds (with PROC_NULL where it has nothing to do).
    Raises ValueError if in some round what a rank sends is not what its receiver expects.
    """
    number = P if blocks is None else blocks
    bounds = block_bounds(count, number) * itemsize
    bounds = np.concatenate([bounds, bounds[1:] + bounds[-1]])  # a range may run past the last block
    cables, ranks, zero = _Cables(network, P), np.arange(P), np.zeros(P)
    bytes_sent, messages = np.zeros(P, np.int64), np.zeros(P, np.int64)
    group = _Group(zero, zero, zero, zero)
    for to, (lo, hi), source, (first, last), combine, wait in rounds(ranks, P, **options):
        to, source, size, expected = np.broadcast_arrays(
            to, source, bounds[hi] - bounds[lo], bounds[last] - bounds[first]
        )
        senders = np.flatnonzero(to != mpi.PROC_NULL)
        receivers = to[senders]
        size = size[senders]
        _check(senders, receivers, size, source, expected)
        start = np.maximum(group.posted[senders], group.posted[receivers])
        start = np.maximum(start, np.maximum(group.sent[senders], group.received[receivers]))
        arrival = cables.carry(senders, receivers, start, size)
        sent, received, combined = group.sent.copy(), group.received.copy(), group.combined.copy()
        sent[senders], received[receivers] = arrival, arrival
        if combine:
            behind = np.maximum(combined, np.maximum(received, sent) if wait else received)[receivers]
            combined[receivers] = behind + size * network.gamma
        bytes_sent[senders] += size
        messages[senders] += 1
        group = _Group(group.posted, sent, received, combined)
        if wait:
            done = np.maximum(np.maximum(sent, received), combined)
            group = _Group(done, done, done, done)
    return Evaluation(group.posted, bytes_sent, messages)


def _check(senders, receivers, size, source, expected) -> None:
    """Raise ValueError unless what is sent and what is expected fit together."""
    awaited = np.flatnonzero(source != mpi.PROC_NULL)
    if len(awaited) != len(receivers) or not np.array_equal(source[receivers], senders):
        raise ValueError("in some round a rank does not receive what another one sends to it")
    if not np.array_equal(expected[receivers], size):
        raise ValueError("in some round a rank expects another number of bytes than are sent to it")


class _Cables:
    """The ways of a network for many messages at a time, and when each of its cables is free (s)."""

    def __init__(self, network: Network, P: int):
        if network.levels[-1].ranks < P:
            raise ValueError(f"{P} ranks are not on one network: it holds {network.levels[-1].ranks}")
        self.levels = [level for level in network.levels if level.ranks < P]
        self.top = network.levels[len(self.levels)]
        self.first, total = [], 0  # the number of each level's first cable, up and down
        for level in self.levels:
            cables = -(-P // int(level.ranks)) * level.uplinks
            self.first.append((total, total + cables))
            total += 2 * cables
        self.free = np.zeros(total)

    def carry(self, senders, receivers, start, size) -> np.ndarray:
        """When each message has arrived that both ends and their ports are ready for at `start`."""
        alpha, beta, links = self._ways(senders, receivers)
        lasts = alpha + size * beta
        if not self.levels:
            return start + lasts
        held = links >= 0
        used = links[held]
        if len(np.unique(used)) == len(used):  # no two messages of this round meet
            begin = np.maximum(start, np.where(held, self.free[links], 0.0).max(axis=1))
            self.free[used] = np.broadcast_to((begin + lasts)[:, None], links.shape)[held]
            return begin + lasts
        arrival = np.empty(len(senders))
        for i in np.argsort(start, kind="stable"):
            own = links[i][held[i]]
            arrival[i] = max(start[i], self.free[own].max(initial=0.0)) + lasts[i]
            self.free[own] = arrival[i]
        return arrival

    def _ways(self, senders, receivers):
        """Of each message latency, seconds per byte and cables: integers of shape [messages, 2 levels], -1 for none."""
        top, apart = self.top, np.ones(len(senders), bool)
        alpha, beta, links = np.zeros(len(senders)), np.zeros(len(senders)), []
        for level, (up, down) in zip(self.levels, self.first, strict=True):
            alpha, beta = np.maximum(alpha, apart * level.alpha), np.maximum(beta, apart * level.beta)
            here, there = senders // int(level.ranks), receivers // int(level.ranks)
            apart, cable = apart & (here != there), receivers % level.uplinks
            links += [
                np.where(apart, first + group * level.uplinks + cable, -1)
                for first, group in ((up, here), (down, there))
            ]
        alpha, beta = np.maximum(alpha, apart * top.alpha), np.maximum(beta, apart * top.beta)
        return alpha, beta, np.stack(links, axis=1) if links else None
