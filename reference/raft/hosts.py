"""Servers and their disks, without a network: who uses it decides which message arrives when.

Idea      Each step of a node is: take a message or a timeout, save what is durable, send. So a crash falls between two
          steps, or after the saving and before the sending: then the messages are lost. `RaftHosts` does the steps,
          crashes and restarts nodes from their disks alone, and checks the five properties after each step. `ByHand`
          keeps the messages, and delivers those that you name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from random import Random

from .invariants import Invariants
from .messages import Durable, LogEntry, LogSnapshot, RaftTiming
from .node import DEFAULT, LEADER, RaftNode
from .sessions import Sessions, once
from .store import StoreState, apply

Sent = list[tuple[str, object]]  # (destination, message)


def store_step(sessions: Sessions, entry: LogEntry) -> tuple[Sessions, Hashable]:
    """A step of the checkpoint store, in which a repeated request is carried out once."""
    return once(apply, sessions, entry)


EMPTY = Sessions(StoreState())


class RaftHosts:
    """Servers that run or have crashed, each with a disk.

    members  the first servers of the cluster; spares  servers that may be added later
    node     the class of a server, RaftNode or one with a mistake in it
    step, state  the state machine and its first state
    """

    def __init__(
        self,
        members: Sequence[str],
        spares: Sequence[str] = (),
        node: type[RaftNode] = RaftNode,
        step: Callable = store_step,
        state: Hashable = EMPTY,
        timing: RaftTiming = DEFAULT,
        seed: int = 0,
    ):
        first = {name: tuple(members) for name in members} | dict.fromkeys(spares, ())
        self.disks = {name: Durable(0, None, LogSnapshot(0, 0, known, state)) for name, known in first.items()}
        self.node, self.machine, self.timing = node, step, timing
        self.random, self.invariants = Random(seed), Invariants()
        self.nodes: dict[str, RaftNode] = {}
        for name in first:
            self.start(name, 0.0)

    def start(self, name: str, now: float) -> None:
        """Start a server from its disk, for the first time or after a crash. now: its clock."""
        self.nodes[name] = self.node(
            name, self.disks[name], self.machine, now, Random(self.random.random()), self.timing
        )

    def crash(self, name: str) -> None:
        """End a server. Only its disk is left."""
        if self.nodes.pop(name, None):
            self.invariants.forget(name)

    def receive(self, name: str, source: str, message, now: float) -> Sent:
        """One step of a server that runs: a message has arrived. Return what it sends."""
        return self._step(self.nodes[name], self.nodes[name].receive(source, message, now))

    def tick(self, name: str, now: float) -> Sent:
        """One step of a server that runs: its deadline has come. Return what it sends."""
        return self._step(self.nodes[name], self.nodes[name].tick(now))

    def leaders(self) -> list[str]:
        """Who believes to lead, the newest term last."""
        leading = [node for node in self.nodes.values() if node.role == LEADER]
        return [node.name for node in sorted(leading, key=lambda node: node.current_term)]

    def _step(self, node: RaftNode, sent: Sent) -> Sent:
        if node.unsaved:
            self.disks[node.name], node.unsaved = node.durable(), False
        self.invariants.check(node)
        return sent


class ByHand(RaftHosts):
    """Servers whose messages wait until they are delivered by hand. Time stands still, and deadlines come when told."""

    def __init__(self, members: Sequence[str], **options):
        super().__init__(members, **options)
        self.waiting: dict[tuple[str, str], deque] = {}
        self.now = 0.0

    def timeout(self, name: str) -> None:
        """The server waits no longer: a leader sends heartbeats, others become candidates."""
        self.now += 2 * self.timing.election
        self._keep(name, self.tick(name, self.now))

    def ask(self, name: str, request) -> None:
        """A client asks a server."""
        self._keep(name, self.receive(name, request.client, request, self.now))

    def deliver(self, source: str, *dests: str, most: int = 1000) -> None:
        """Deliver what waits from one server to others, at most so many messages to each; answers then wait, too."""
        for dest in dests:
            waiting = self.waiting.get((source, dest), deque())
            for _ in range(min(most, len(waiting))):
                message = waiting.popleft()
                if dest in self.nodes:
                    self._keep(dest, self.receive(dest, source, message, self.now))

    def exchange(self, source: str, *dests: str) -> None:
        """Deliver what waits from one server to others, and then their answers."""
        self.deliver(source, *dests)
        for dest in dests:
            self.deliver(dest, source)

    def lose(self) -> None:
        """Lose all messages that wait."""
        self.waiting.clear()

    def terms(self) -> dict[str, list[int]]:
        """The terms of the entries on each server's disk."""
        return {name: [entry.term for entry in disk.entries] for name, disk in sorted(self.disks.items())}

    def _keep(self, source: str, sent: Sent) -> None:
        for dest, message in sent:
            self.waiting.setdefault((source, dest), deque()).append(message)
