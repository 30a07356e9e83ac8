"""Clients of a simulated cluster: they ask, wait, ask again elsewhere, and write down what they saw.

A request that gets no answer is sent again with the same number, to another server. A client goes on to its next
request when it has an answer, so it has one request under way at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random

from .history import Operation
from .messages import ChangeMembers, ClientReply, ClientRequest
from .store import CommitCheckpoint, JoinWorker, LeaveWorker, ReadStore, StoreAnswer, StoreState


class RaftClient:
    """Asks a checkpoint store for things drawn at random; servers: whom it knows."""

    patience, pause = 0.2, 0.02  # seconds until it asks again, and (on average) between an answer and the next request

    def __init__(self, name: str, servers: Sequence[str], random: Random):
        self.name, self.servers, self.random = name, servers, random
        self.server = random.choice(servers)
        self.serial, self.waits, self.start = 0, False, 0.0
        self.command: Hashable = None
        self.state = StoreState()  # as last heard
        self.done: list[Operation] = []

    def ask(self, now: float) -> list[tuple[str, object]]:
        """The request to send now: a new one, or the one that waits."""
        if not self.waits:
            self.serial, self.waits, self.start, self.command = self.serial + 1, True, now, self.draw()
        return [(self.server, ClientRequest(self.name, self.serial, self.command))]

    def draw(self) -> Hashable:
        """What to ask for: to read, to add or remove a worker, or to commit a checkpoint in the epoch last heard of."""
        kind, worker = self.random.random(), self.random.choice("abc")
        if kind < 0.4:
            return ReadStore()
        if kind < 0.6:
            return JoinWorker(worker) if kind < 0.5 else LeaveWorker(worker)
        newest = self.state.checkpoint.step if self.state.checkpoint else 0
        shards = tuple((worker, f"{newest:x}") for worker in self.state.workers)
        return CommitCheckpoint(newest + self.random.randint(0, 2), self.state.epoch, shards)

    def hear(self, reply: ClientReply, now: float) -> bool:
        """Take a reply; return whether it answers the request that waits."""
        if reply.serial != self.serial or not self.waits:
            return False
        if not reply.done:
            self.server = reply.leader or self.server
            return False
        self.waits = False
        if isinstance(reply.result, StoreAnswer):
            self.state = reply.result.state
        self.done.append(Operation(self.name, self.command, self.start, now, reply.result))
        return True

    def look_elsewhere(self) -> None:
        """No answer: ask another server."""
        self.server = self.random.choice(self.servers)

    def change(self, members: tuple[str, ...], server: str) -> list[tuple[str, object]]:
        """A request to change the members of the cluster."""
        self.serial, self.waits = self.serial + 1, True
        return [(server, ChangeMembers(self.name, self.serial, members))]

    def history(self) -> list[Operation]:
        """What was asked for, the last perhaps without an answer."""
        return self.done + ([Operation(self.name, self.command, self.start)] if self.waits else [])
