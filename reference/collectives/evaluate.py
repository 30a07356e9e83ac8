"""The time of a schedule for all ranks at once, without running it: 10,000 ranks in seconds.

A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Then a round of the
virtual cluster is a few vector operations on the ranks' clocks: a transfer starts when both its ends have come to it
and their ports are free, and a rank goes on when what it sends and what it receives have arrived. On a uniform network
this is not an estimate but the same arithmetic as the engine's, and equal to it to the last bit. One exception: rounds
that are posted together, with blocks of unequal size; there the engine lets ranks get out of step, and this does not.

On other networks a message also holds the links of its way. If no two messages want one link at a time, that is exact,
too. Else it is an estimate: messages of one round queue for links in the order in which they are ready, and one whose
way is free does not wait for others, as in the engine; but all of a round come before those of the next one, while in
the engine a rank that has less to wait for may be a round ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from .. import mpi
from ..networks.network import Network, check_network
from ..networks.ways import router
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
    Raises ValueError if in some round what a rank sends is not what its receiver expects, TypeError for what is no
    network.
    """
    check_network(network)
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
    """When each link of a network is free (s), while messages are carried, a round of them at a time."""

    def __init__(self, network: Network, P: int):
        self.router, self.free = router(network, P), np.zeros(0)

    def carry(self, senders, receivers, start, size) -> np.ndarray:
        """When each message has arrived that both ends and their ports are ready for at `start`."""
        alpha, beta, links = self.router.ways(senders, receivers)
        lasts = alpha + size * beta
        if links is None:
            return start + lasts
        self.free = np.concatenate([self.free, np.zeros(self.router.number - len(self.free))])
        held = links >= 0
        used = links[held]
        if len(np.unique(used)) == len(used):  # no two messages of this round meet
            begin = np.maximum(start, np.where(held, self.free[links], 0.0).max(axis=1))
            self.free[used] = np.broadcast_to((begin + lasts)[:, None], links.shape)[held]
            return begin + lasts
        order = np.lexsort((senders > receivers, np.maximum(senders, receivers)))  # in which the engine hears of them
        arrival = np.empty(len(senders))
        arrival[order] = self._queue(start[order].tolist(), lasts[order].tolist(), links[order].tolist())
        return arrival

    def _queue(self, start: list[float], lasts: list[float], links: list[list[int]]) -> list[float]:
        """When messages arrive that want the same links: who is ready first is served first, but none stands idle."""
        free, ways = self.free.tolist(), [[link for link in way if link >= 0] for way in links]
        waiting, arrival = sorted(zip(start, range(len(start)), strict=True)), [0.0] * len(start)  # sorted: a heap
        while waiting:
            time, i = heappop(waiting)
            way_free = max((free[link] for link in ways[i]), default=0.0)
            if way_free > time:
                heappush(waiting, (way_free, i))
                continue
            arrival[i] = time + lasts[i]
            for link in ways[i]:
                free[link] = arrival[i]
        self.free = np.array(free)
        return arrival
