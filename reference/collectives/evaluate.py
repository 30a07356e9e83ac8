"""The time of a schedule for all ranks at once, without running it: 10,000 ranks in seconds.

A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Then a round of the
virtual cluster is a few vector operations on the ranks' clocks: a transfer starts when both its ends have come to it
and their ports are free, and a rank goes on when what it sends and what it receives have arrived. This is not an
estimate but the same arithmetic as the engine's, and equal to it to the last bit.

It holds as long as rounds tell who comes first: one message each way a rank at a time, or equal ones that all ranks
post together, and no link that two senders and two receivers share. Else who comes first depends on the clocks, and
every message is looked at in the order of time (replay.py), which takes far longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..networks.network import Network, check_network
from ..networks.ways import router
from . import replay
from .rounds import Round, block_bounds
from .sheets import Peers, Sheet, sheets


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
    bounds = block_bounds(count, number) * float(itemsize)  # no integers to be turned into floats in every round
    bounds = np.concatenate([bounds, bounds[1:] + bounds[-1]])  # a range may run past the last block
    bytes_sent, messages = np.zeros(P), np.zeros(P, np.int64)

    def counted() -> Iterator[Sheet]:
        bytes_sent[:], messages[:] = 0, 0
        for sheet in sheets(rounds(np.arange(P), P, **options), bounds, P, router(network, P)):
            bytes_sent[sheet.peers.index] += sheet.size
            messages[sheet.peers.index] += 1
            yield sheet

    try:
        clocks = _in_rounds(counted(), P, network.gamma)
    except _Meeting:
        clocks = replay.in_order(counted(), P, network.gamma)
    return Evaluation(clocks, bytes_sent.astype(np.int64), messages)


def _in_rounds(sheets: Iterator[Sheet], P: int, gamma: float) -> np.ndarray:
    """When each rank is through. Raises _Meeting if the rounds do not tell who comes first."""
    zero, users = np.zeros(P), _Users()
    group = start = _Group(zero, zero, zero, zero, zero)
    for sheet in sheets:
        peers, first = sheet.peers, group.holds < 0
        users.check(peers)
        if not (first and sheet.wait):
            group = _alike(group, sheet)
        posted, out_free, in_free = group.posted, group.out_free, group.in_free
        begin = np.maximum(peers.of_senders(posted), peers.of_receivers(posted))
        if not first:
            begin = np.maximum(begin, np.maximum(peers.of_senders(out_free), peers.of_receivers(in_free)))
        arrival = sheet.lasts
        arrival += begin
        sent, combined = peers.at_senders(arrival, group.sent), peers.at_receivers(arrival, group.combined)
        if not first:
            combined = np.maximum(combined, group.combined)
        if sheet.wait:
            combined = np.maximum(combined, sent)
        if sheet.combine:
            combined += sheet.received * gamma
        if sheet.wait:
            group = start._replace(posted=np.maximum(combined, posted) if peers.ahead is None else combined)
        else:
            free = begin + sheet.holds
            out_free, in_free = peers.at_senders(free, out_free), peers.at_receivers(free, in_free)
            group = _Group(posted, out_free, in_free, sent, combined, group.holds)
    return group.posted


def _alike(group: _Group, sheet: Sheet) -> _Group:
    """A group of several rounds, in which all messages hold ports for one time and all ranks keep in step."""
    holds = sheet.holds
    P, each = len(group.posted), holds[0] if group.holds < 0 else group.holds
    if len(holds) < P or (holds != each).any() or (group.posted != group.posted[0]).any():
        raise _Meeting
    return group._replace(holds=each)


class _Users:
    """Who uses each link: one that has several senders as well as several receivers is where messages may meet."""

    def __init__(self) -> None:
        self.noted: Peers | None = None  # those of the last round
        self.ends = np.empty((2, 0), int)  # [sender or receiver, link]: the first one, -1: none yet
        self.several = np.empty((2, 0), bool)

    def check(self, peers: Peers) -> None:
        """Note the ways of some messages. Raises _Meeting if messages may meet."""
        senders, receivers, links = peers.senders, peers.receivers, peers.ways.links
        if links is None or peers is self.noted:
            return
        self.noted = peers
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
