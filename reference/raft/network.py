"""A simulated network in bad weather: what one seed says happens, happens again with the same seed.

Idea      One queue of events, ordered by time: a message arrives, a server's deadline comes, a client gives up waiting,
          the weather changes. All chance comes from one generator. So a run that breaks a property can be repeated,
          and looked at. Messages are lost, copied, and overtake each other. The network parts, servers crash and come
          back with their disks, clocks run fast and slow. Members are added and removed. At the end the weather is
          calm; then the cluster must make progress, and all servers agree.
Left out  Disks that lose what was flushed, and servers that lie (Byzantine faults): Raft does not survive them.
Source    Deterministic simulation as FoundationDB is tested with: Zhou et al., FoundationDB, SIGMOD 2021, section 4.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from .clients import RaftClient
from .history import Operation, linearization
from .hosts import RaftHosts, Sent
from .node import RaftNode
from .store import StoreState, apply


class Weather(NamedTuple):
    """How bad it is. Seconds are means of exponential distributions; 0 means never."""

    delay: float = 0.01  # of a message
    least: float = 0.001  # seconds that every message takes
    loss: float = 0.05  # part of the messages
    copies: float = 0.05  # part of the messages that arrive twice
    partition: float = 0.6  # seconds between changes of who can hear whom
    crash: float = 0.4  # seconds between two crashes, every other one of a leader
    stumble: float = 0.01  # part of the steps in which a server saves, sends some of its messages, and crashes
    down: float = 0.3  # seconds until a crashed server comes back; every other one comes back at once
    change: float = 0.5  # seconds between two requests to add or remove servers
    skew: float = 0.2  # clocks run faster or slower by at most this part


CALM = Weather(delay=0.0, least=0.005, loss=0.0, copies=0.0, partition=0, crash=0, stumble=0.0, change=0, skew=0.0)
STORM = Weather()


def storm(random: Random) -> Weather:
    """Weather drawn at random, so that runs with many seeds see many kinds of it."""
    return Weather(
        delay=random.choice((0.003, 0.01, 0.03, 0.05)),
        loss=random.choice((0.0, 0.02, 0.1)),
        copies=random.choice((0.0, 0.1)),
        partition=random.choice((0, 0.3, 1.0)),
        crash=random.choice((0, 0.1, 0.5)),
        stumble=random.choice((0.0, 0.1, 0.3)),
        down=random.choice((0.01, 0.1)),
        change=random.choice((0, 0.05, 0.2)),
        skew=random.choice((0.0, 0.4)),
    )


class RaftSimulation(RaftHosts):
    """Servers "S1", "S2", … and spares, with clients "C1", … that ask for something all the time, for one seed."""

    def __init__(
        self,
        servers: int = 5,
        spares: int = 1,
        clients: int = 3,
        seed: int = 0,
        weather: Weather = STORM,
        client: type[RaftClient] = RaftClient,
        **options,
    ):
        names = [f"S{i + 1}" for i in range(servers + spares)]
        super().__init__(names[:servers], names[servers:], seed=seed, **options)
        self.names, self.weather, self.now = names, weather, 0.0
        self.rate = {name: 1 + weather.skew * self.random.uniform(-1, 1) for name in names}
        self.blocked: set[tuple[str, str]] = set()
        self.sent: dict[str, int] = {}  # messages by type
        self.events, self.count = [], 0
        self.clients = {f"C{i + 1}": client(f"C{i + 1}", names, self.random) for i in range(clients)}
        self.admin = RaftClient("admin", names, self.random)
        for name in self.clients:
            self._at(self.random.random() * 0.1, self._ask, name)
        for name in names:
            self._watch(name)
        for seconds, what in (
            (weather.partition, self._part),
            (weather.crash, self._strike),
            (weather.change, self._change),
        ):
            if seconds:
                self._at(self.random.expovariate(1 / seconds), what)

    # ------------------------------------------------------------------------------------------------ running

    def run(self, seconds: float) -> RaftSimulation:
        """Let so many seconds pass. Raises SafetyViolated at the step that breaks a property."""
        end = self.now + seconds
        while self.events and self.events[0][0] <= end:
            self.now, _, what, arguments = heapq.heappop(self.events)
            what(*arguments)
        self.now = end
        return self

    def settle(self, seconds: float = 2.0) -> RaftSimulation:
        """Calm down, and all servers come up: the cluster must commit something now. Raises AssertionError."""
        self.weather = CALM
        self.blocked.clear()
        for name in self.names:
            if name not in self.nodes:
                self._restart(name)
        before = max(self.invariants.committed, default=0)
        self.run(seconds)
        if max(self.invariants.committed, default=0) <= before:
            raise AssertionError(f"nothing was committed in {seconds} calm seconds")
        return self

    def history(self) -> list[Operation]:
        """All operations of all clients, also those without an answer."""
        return [operation for client in self.clients.values() for operation in client.history()]

    def is_linearizable(self) -> bool:
        """Whether one server that does one thing at a time could have given the clients' answers."""
        return linearization(self.history(), apply, StoreState()) is not None

    # ------------------------------------------------------------------------------------------------ events

    def _at(self, delay: float, what, *arguments) -> None:
        self.count += 1  # of two events of the same time, the older one first
        heapq.heappush(self.events, (self.now + delay, self.count, what, arguments))

    def clock(self, name: str) -> float:
        """What a server's clock shows."""
        return self.now * self.rate[name]

    def _watch(self, name: str) -> None:
        """Look again when the server's deadline comes."""
        node = self.nodes[name]
        self._at(max(0.0, node.deadline - self.clock(name)) / self.rate[name] + 1e-9, self._due, name, node)

    def _due(self, name: str, node: RaftNode) -> None:
        if self.nodes.get(name) is node:  # not one that has crashed
            if self.clock(name) >= node.deadline:
                self._post(name, self.tick(name, self.clock(name)))
            if name in self.nodes:  # it may have stumbled
                self._watch(name)

    def _post(self, source: str, sent: Sent) -> None:
        """Send messages, each of which may be lost, copied or late."""
        weather, random = self.weather, self.random.random
        if source in self.nodes and random() < weather.stumble * (0.2 if len(sent) == 1 else 1):
            sent = sent[: self.random.randint(0, len(sent))]
            self._fall(source)
        for dest, message in sent:
            kind = type(message).__name__
            self.sent[kind] = self.sent.get(kind, 0) + 1
            if random() < weather.loss:
                continue
            for _ in range(1 + (random() < weather.copies)):
                late = self.random.expovariate(1 / weather.delay) if weather.delay else 0.0
                self._at(weather.least + late, self._arrive, source, dest, message)

    def _arrive(self, source: str, dest: str, message) -> None:
        if (source, dest) in self.blocked:
            return
        if dest in self.nodes:
            self._post(dest, self.receive(dest, source, message, self.clock(dest)))
        elif dest in self.clients:
            self._at(0.0, self._hear, dest, message)
        elif dest == "admin":
            self.admin.hear(message, self.now)

    # ------------------------------------------------------------------------------------------------ clients

    def _ask(self, name: str) -> None:
        """A client sends its request, and asks again if it has not heard."""
        client = self.clients[name]
        self._post(name, client.ask(self.now))
        self._at(client.patience, self._again, name, client.serial)

    def _again(self, name: str, serial: int) -> None:
        client = self.clients[name]
        if client.serial == serial and client.waits:
            client.look_elsewhere()
            self._ask(name)

    def _hear(self, name: str, message) -> None:
        client, asked = self.clients[name], self.clients[name].server
        if client.hear(message, self.now):
            self._at(self.random.expovariate(1 / client.pause), self._ask, name)
        elif client.waits and client.server != asked:  # it was told who leads
            self._post(name, client.ask(self.now))

    # ------------------------------------------------------------------------------------------------ weather

    def partition(self, *groups: Iterable[str]) -> None:
        """Servers hear only those of their own group; without groups, all hear all."""
        group = {name: number for number, names in enumerate(groups) for name in names}
        self.blocked = {(a, b) for a in group for b in group if group[a] != group[b]}

    def _part(self) -> None:
        if not self.weather.partition:
            return
        side = {name: self.random.random() < 0.5 for name in self.names}
        kind = self.random.random()
        if kind < 0.4:
            self.blocked = set()
        else:  # in both directions, or in one
            self.blocked = {(a, b) for a in side for b in side if side[a] != side[b] and (kind < 0.8 or side[a])}
        self._at(self.random.expovariate(1 / self.weather.partition), self._part)

    def _strike(self) -> None:
        if not self.weather.crash:
            return
        leads = self.leaders() if self.random.random() < 0.7 else []
        self._fall(self.random.choice(leads[-1:] or self.names))
        self._at(self.random.expovariate(1 / self.weather.crash), self._strike)

    def _fall(self, name: str) -> None:
        """Crash a server, and have it back later."""
        if name in self.nodes:
            self.crash(name)
            at_once = self.random.random() < 0.5
            self._at(0.001 if at_once else self.random.expovariate(1 / self.weather.down), self._restart, name)

    def _restart(self, name: str) -> None:
        if name not in self.nodes:
            self.start(name, self.clock(name))
            self._watch(name)

    def _change(self) -> None:
        """Ask a leader to add a server or to remove one, and sometimes for two changes at once."""
        if not self.weather.change:
            return
        for name in self.leaders()[-1:]:
            names = self.random.sample(self.names, k=1 + (self.random.random() < 0.2))
            if len(members := set(self.nodes[name].log.members) ^ set(names)) >= 2:
                self._post("admin", self.admin.change(tuple(members), name))
        self._at(self.random.expovariate(1 / self.weather.change), self._change)
