"""A schedule as sheets: a round of all ranks, message by message, for what times schedules without running them.

Idea      A generator of rounds called with `rank = arange(P)` yields arrays: one round of all ranks. Messages are
          numbered by their senders. What depends only on who sends to whom is worked out once for all rounds in a row
          that name the same objects `to` and `source`, as those of a ring do; and where everybody sends equally far,
          nothing is picked out or put back, but cut in two and joined again, which takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from ..networks.ways import Router, Ways
from .rounds import Round


class Peers(NamedTuple):
    """Who sends to whom in a round, and on which ways: senders[i] sends message i to receivers[i].

    receives: whether each rank does; ahead: how many ranks ahead all send, if all do and equally far, else None;
    index: of the senders in an array of ranks. Arrays of ranks have the shape [P], those of messages [messages].
    """

    to: Any
    source: Any
    senders: np.ndarray
    receivers: np.ndarray
    receives: np.ndarray
    index: Any
    ahead: int | None
    ways: Ways

    @classmethod
    def of(cls, to: Any, source: Any, P: int, router: Router) -> Peers:
        """Raises ValueError unless each that is sent to expects to receive from its sender, and nobody else does."""
        dest, origin = np.broadcast_to(to, P), np.broadcast_to(source, P)
        senders, receives = np.flatnonzero(dest != mpi.PROC_NULL), origin != mpi.PROC_NULL
        receivers = dest[senders]
        if np.count_nonzero(receives) != len(senders) or not np.array_equal(origin[receivers], senders):
            raise ValueError("in some round a rank does not receive what another one sends to it")
        alike = len(senders) == P and np.array_equal(receivers, _rolled(senders, receivers[0]))
        ahead, index = (int(receivers[0]), slice(None)) if alike else (None, senders)
        return cls(to, source, senders, receivers, receives, index, ahead, router.ways(senders, receivers))

    def of_senders(self, values: np.ndarray) -> np.ndarray:
        """Of each message: what `values` has for its sender."""
        return values[self.index]

    def of_receivers(self, values: np.ndarray) -> np.ndarray:
        """Of each message: what `values` has for its receiver."""
        return values[self.receivers] if self.ahead is None else _rolled(values, self.ahead)

    def at_senders(self, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        """Of each rank: what is new (of each message) if it sends, else the old."""
        return _put(new, old, self.senders) if self.ahead is None else new

    def at_receivers(self, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        """Of each rank: what is new (of each message) if it receives, else the old."""
        return _put(new, old, self.receivers) if self.ahead is None else _rolled(new, -self.ahead)


class Sheet(NamedTuple):
    """A round of all ranks. Bytes of each message, and that each rank receives, as floats."""

    peers: Peers
    size: np.ndarray
    received: np.ndarray
    combine: bool
    wait: bool

    @property
    def holds(self) -> np.ndarray:
        """Seconds for which each message takes its ports and links."""
        return self.peers.ways.gap + self.size * self.peers.ways.beta

    @property
    def lasts(self) -> np.ndarray:
        """Seconds until each message is there."""
        lasts = self.size * self.peers.ways.beta
        lasts += self.peers.ways.alpha  # in place, because for many ranks it is memory that takes time
        return lasts


def sheets(rounds: Iterable[Round], bounds: np.ndarray, P: int, router: Router) -> Iterator[Sheet]:
    """The rounds of all ranks as sheets. bounds: at which byte each block begins, floats.

    Raises ValueError if in some round what a rank sends is not what its receiver expects.
    """
    peers = named = None
    expected = np.zeros(P)
    for to, send, source, recv, combine, wait in rounds:
        if peers is None or to is not peers.to or source is not peers.source:
            peers = Peers.of(to, source, P, router)
        size = peers.of_senders(expected if send is named else _bytes(send, bounds, P))  # a ring sends what came last
        named, expected = recv, _bytes(recv, bounds, P)
        if not np.array_equal(peers.of_receivers(expected), size):
            raise ValueError("in some round a rank expects another number of bytes than are sent to it")
        yield Sheet(peers, size, expected if peers.ahead is not None else expected * peers.receives, combine, wait)


def _bytes(blocks: tuple, bounds: np.ndarray, P: int) -> np.ndarray:
    """How many there are in each rank's blocks."""
    lo, hi = blocks
    many = bounds[hi]
    many -= bounds[lo]
    return np.broadcast_to(many, P)


def _rolled(values: np.ndarray, by: int) -> np.ndarray:
    """values[by], values[by + 1], ..., and on at the beginning."""
    return np.concatenate((values[by:], values[:by]))


def _put(new: np.ndarray, old: np.ndarray, where: np.ndarray) -> np.ndarray:
    changed = old.copy()
    changed[where] = new
    return changed
