"""The time of a schedule for all ranks at once, without running it: 10,000 ranks in seconds.

A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Then a round of the
virtual cluster is a few vector operations on the ranks' clocks: a transfer starts when both its ends have come to it
and their ports are free, and a rank goes on when what it sends and what it receives have arrived. This is not an
estimate but the same arithmetic as the engine's, and equal to it to the last bit.

It holds as long as rounds tell who comes first: one message each way a rank at a time, or equal ones that all ranks
post together, and no link that two senders and two receivers share. Else who comes first depends on the clocks, and
every message is looked at in the order of time (replay.py): a hundred thousand of them take about a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .. import mpi
from ..networks.network import Network, check_network
from ..networks.ways import Router, router
from . import replay
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
    out_free: np.ndarray  # when its outgoing port is free
    in_free: np.ndarray  # when its incoming port is free
    sent: np.ndarray  # when what it has sent is there
    combined: np.ndarray  # when what has come to it is combined
    holds: float = -1.0  # for how long each of its messages holds ports, if there are several rounds


class _Meeting(Exception):
    """Who comes first is not told by the rounds."""


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
    bytes_sent, messages = np.zeros(P, np.int64), np.zeros(P, np.int64)

    def sheets() -> Iterator[replay.Sheet]:
        bytes_sent[:], messages[:] = 0, 0
        ways = router(network, P)
        for round in rounds(np.arange(P), P, **options):
            sheet = _sheet(round, bounds, ways)
            bytes_sent[sheet.senders] += sheet.size
            messages[sheet.senders] += 1
            yield sheet

    try:
        clocks = _in_rounds(sheets(), P, network.gamma)
    except _Meeting:
        clocks = replay.in_order(sheets(), P, network.gamma)
    return Evaluation(clocks, bytes_sent, messages)


def _sheet(round: Round, bounds: np.ndarray, ways: Router) -> replay.Sheet:
    """A round of all ranks, message by message. Raises ValueError unless what is sent and what is expected agree."""
    to, (lo, hi), source, (first, last), combine, wait = round
    to, source, size, expected = np.broadcast_arrays(to, source, bounds[hi] - bounds[lo], bounds[last] - bounds[first])
    senders = np.flatnonzero(to != mpi.PROC_NULL)
    receivers = to[senders]
    size = size[senders]
    awaited = np.flatnonzero(source != mpi.PROC_NULL)
    if len(awaited) != len(receivers) or not np.array_equal(source[receivers], senders):
        raise ValueError("in some round a rank does not receive what another one sends to it")
    if not np.array_equal(expected[receivers], size):
        raise ValueError("in some round a rank expects another number of bytes than are sent to it")
    alpha, beta, gap, links = ways.ways(senders, receivers)
    moving = size * beta
    return replay.Sheet(senders, receivers, size, gap + moving, alpha + moving, links, combine, wait)


def _in_rounds(sheets: Iterator[replay.Sheet], P: int, gamma: float) -> np.ndarray:
    """When each rank is through. Raises _Meeting if the rounds do not tell who comes first."""
    zero, users = np.zeros(P), _Users()
    group = start = _Group(zero, zero, zero, zero, zero)
    for senders, receivers, size, holds, lasts, links, combine, wait in sheets:
        users.check(senders, receivers, links)
        if group.holds >= 0 or not wait:
            group = _alike(group, senders, holds)
        begin = np.maximum(group.posted[senders], group.posted[receivers])
        begin = np.maximum(begin, np.maximum(group.out_free[senders], group.in_free[receivers]))
        arrival, free = begin + lasts, begin + holds
        out_free, in_free, sent, combined = (field.copy() for field in group[1:5])
        out_free[senders], in_free[receivers] = free, free
        sent[senders] = arrival
        received = np.maximum(combined[receivers], np.maximum(arrival, sent[receivers]) if wait else arrival)
        combined[receivers] = received + size * gamma if combine else received
        group = _Group(group.posted, out_free, in_free, sent, combined, group.holds)
        if wait:
            done = np.maximum(np.maximum(sent, combined), group.posted)
            group = start._replace(posted=done)
    return group.posted


def _alike(group: _Group, senders: np.ndarray, holds: np.ndarray) -> _Group:
    """A group of several rounds, in which all messages hold ports for one time and all ranks keep in step."""
    P, each = len(group.posted), holds[0] if group.holds < 0 else group.holds
    if len(senders) < P or (holds != each).any() or (group.posted != group.posted[0]).any():
        raise _Meeting
    return group._replace(holds=each)


class _Users:
    """Who uses each link: one that has several senders as well as several receivers is where messages may meet."""

    def __init__(self) -> None:
        self.ends = np.empty((2, 0), int)  # [sender or receiver, link]: the first one, -1: none yet
        self.several = np.empty((2, 0), bool)

    def check(self, senders: np.ndarray, receivers: np.ndarray, links: np.ndarray | None) -> None:
        """Note the ways of some messages. Raises _Meeting if messages may meet."""
        if links is None:
            return
        message, column = np.nonzero(links >= 0)
        used = links[message, column]
        if (more := used.max(initial=-1) + 1 - self.ends.shape[1]) > 0:
            self.ends = np.pad(self.ends, ((0, 0), (0, more)), constant_values=-1)
            self.several = np.pad(self.several, ((0, 0), (0, more)))
        for first, several, mine in zip(self.ends, self.several, (senders[message], receivers[message]), strict=True):
            first[used] = np.where(first[used] < 0, mine, first[used])
            several[used[first[used] != mine]] = True
        if (self.several[0] & self.several[1]).any():
            raise _Meeting
