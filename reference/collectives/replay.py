"""A schedule message by message, in the order of time: what evaluate.py does where messages meet on links.

Idea      Each rank posts a group of messages, and the next one when all of these are there. A message whose two ends
          have been posted books its way (networks/booking.py), the earliest first. Ties go as in the engine: of what is
          posted at one time, every rank's first message comes before anybody's second; within a turn, by rank.
Exact     The clocks are the engine's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from ..networks.booking import Bookings
from .sheets import Sheet


class _Message:
    """A message: its ends, what it takes (s), its ports and links, and when it is there."""

    __slots__ = ("sender", "receiver", "holds", "lasts", "adding", "way", "posted", "arrival")

    def __init__(self, sender: int, receiver: int, holds: float, lasts: float, adding: float, way: tuple):
        self.sender, self.receiver, self.holds, self.lasts, self.adding = sender, receiver, holds, lasts, adding
        self.way = way
        self.posted: tuple | None = None  # when the first of its two ends was posted: time, turn, rank
        self.arrival = 0.0


class _Round:
    """A round: the messages that each rank sends and receives, and how many ranks have not posted it yet."""

    def __init__(self, sheet: Sheet, P: int, gamma: float):
        peers, self.wait = sheet.peers, sheet.wait
        senders, receivers, links = peers.senders, peers.receivers, peers.ways.links
        ports = zip(senders.tolist(), (receivers + P).tolist(), strict=True)
        ways = (
            ports
            if links is None
            else (
                (*both, *(2 * P + link for link in row if link >= 0))
                for both, row in zip(ports, links.tolist(), strict=True)
            )
        )
        adding = sheet.size * gamma if sheet.combine else np.zeros(len(senders))
        fields = (each.tolist() for each in (senders, receivers, sheet.holds, sheet.lasts, adding))
        messages = [*map(_Message, *fields, ways)]
        self.outgoing = {message.sender: message for message in messages}
        self.incoming = {message.receiver: message for message in messages}
        self.to_come = P


class _Rank:
    """A rank: its clock (s), which round comes next, and the group that is under way."""

    __slots__ = ("clock", "round", "posted_at", "turn", "missing", "receives", "sends")

    def __init__(self) -> None:
        self.clock, self.posted_at, self.round, self.turn, self.missing = 0.0, -1.0, 0, 0, 0
        self.receives: list[_Message] = []
        self.sends: list[_Message] = []

    def finish(self) -> None:
        """All messages of the group are there: combine in the order of posting, the sends are waited for last."""
        clock = self.clock
        for message in self.receives:
            last = max([each.arrival for each in self.sends], default=0.0) if message is self.receives[-1] else 0.0
            clock = max(clock, message.arrival, last) + message.adding
        self.clock = clock if self.receives else max(each.arrival for each in self.sends)


class _Replay:
    """All ranks, the rounds that some have not posted yet, and the messages whose two ends have been posted."""

    def __init__(self, sheets: Iterator[Sheet], P: int, gamma: float):
        self.sheets, self.gamma, self.ranks = sheets, gamma, [_Rank() for _ in range(P)]
        self.rounds: deque[_Round] = deque()
        self.first = 0  # the number of the first of these rounds
        self.queue: list[tuple[tuple, int, _Message]] = []  # (when the later end was posted, number, message): a heap
        self.number = 0

    def run(self) -> list[float]:
        """Carry everything out; each rank's clock at the end."""
        bookings = Bookings()
        for me in range(len(self.ranks)):
            self._post(me)
        while self.queue:
            (time, *_), _, message = heappop(self.queue)
            message.arrival = bookings.book(time, message.way, message.holds) + message.lasts
            for me in (message.sender, message.receiver):
                rank = self.ranks[me]
                rank.missing -= 1
                if not rank.missing:
                    rank.finish()
                    self._post(me)
        return [rank.clock for rank in self.ranks]

    def _post(self, me: int) -> None:
        """Post a rank's next group that has any messages, receives first."""
        rank = self.ranks[me]
        rank.receives, rank.sends, wait = [], [], False
        while not (wait and (rank.receives or rank.sends)):
            if (round := self._next(rank)) is None:
                return
            if me in round.incoming:
                rank.receives.append(round.incoming[me])
            if me in round.outgoing:
                rank.sends.append(round.outgoing[me])
            wait = round.wait
        if rank.clock != rank.posted_at:
            rank.posted_at, rank.turn = rank.clock, 0
        rank.missing = len(rank.receives) + len(rank.sends)
        for message in (*rank.receives, *rank.sends):
            end = rank.clock, rank.turn, me
            rank.turn += 1
            if message.posted is None:
                message.posted = end
            else:
                self.number += 1
                heappush(self.queue, (max(end, message.posted), self.number, message))

    def _next(self, rank: _Rank) -> _Round | None:
        """The round that this rank posts next; None at the end."""
        if rank.round - self.first == len(self.rounds):
            if (sheet := next(self.sheets, None)) is None:
                return None
            self.rounds.append(_Round(sheet, len(self.ranks), self.gamma))
        round = self.rounds[rank.round - self.first]
        rank.round += 1
        round.to_come -= 1
        while self.rounds and not self.rounds[0].to_come:
            self.rounds.popleft()
            self.first += 1
        return round


def in_order(sheets: Iterator[Sheet], P: int, gamma: float) -> np.ndarray:
    """When each of P ranks is through (s), [P]. gamma: seconds to combine a byte."""
    return np.array(_Replay(sheets, P, gamma).run())
