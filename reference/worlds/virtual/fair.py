"""Fair sharing: transfers that meet on a port or link share its bandwidth, as fluid simulators have it.

Idea      All transfers that are ready move at once. Their rates are max-min fair: no transfer can get more bytes a
          second without taking them from one that has no more. They are found anew whenever one begins or ends, among
          those that it can reach over ports and links in common: all rates rise together, and where a thing is full,
          its transfers stop rising (progressive filling).
Price     A transfer has g + n beta seconds of work, which it does at full speed if it is alone; it is there alpha - g
          after that. A port of a tree of switches is as fast as the links of level 0, a cable as those of the level
          above it; on any other network a transfer at its full speed fills each port and link of its way.
Left out  `evaluate` and closed forms of its own: a transfer may be slowed down until it ends.
Source    Bertsekas & Gallager, "Data networks" (1992), 6.5; in simulators: Casanova, Giersch, Legrand, Quinson & Suter,
          "Versatile, scalable, and accurate simulation of distributed applications and platforms" (2014).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ...networks.network import Route, levels_of

LAST = 2**62  # a turn behind all others: rates are found when everything that happens at a time has happened
SAME_TIME = 1e-9  # of a transfer's work: what ends so shortly after another one ends with it
SLOWEST = 1e-30  # s/byte, in place of 0: bandwidth without a limit is shared evenly, too


class Flow:
    """A transfer: the work that is left of it (s at full speed), and how fast it is done (1: full speed)."""

    __slots__ = ("work", "left", "speed", "since", "ends", "beta", "shares", "finish")

    def __init__(self, work: float, now: float, beta: float, shares: dict[Hashable, float], finish: Callable):
        self.work = self.left = work
        self.speed, self.since, self.ends = 0.0, now, -1.0
        self.beta, self.finish = beta, finish
        self.shares = shares  # thing -> the part of it that this flow fills, for each byte a second


class Fair:
    """The transfers that are under way, and which of them each port and link has."""

    def __init__(self, engine: Any):
        self.engine, self.levels = engine, levels_of(engine.network)
        self.users: dict[Hashable, dict[Flow, None]] = defaultdict(dict)
        self.changed: dict[Hashable, None] = {}  # ports and links of those that began or ended at this time

    def carry(self, now: float, way: Iterable[Hashable], route: Route, nbytes: int, finish: Callable) -> None:
        """Begin a transfer; finish(time) is called when its work is done."""
        beta = max(route.beta, SLOWEST)
        shares = {thing: self._beta(thing, beta) for thing in way}
        flow = Flow(route.holds(nbytes), now, beta, shares, finish)
        for thing in shares:
            self.users[thing][flow] = None
        self._change(now, flow)

    def _beta(self, thing: Any, own: float) -> float:
        """Seconds a byte of a port or link."""
        if not self.levels:
            return own
        return max(self.levels[0 if thing[0] in ("out", "in") else thing[0] + 1].beta, SLOWEST)

    def _change(self, now: float, flow: Flow) -> None:
        if not self.changed:
            self.engine.post(now, 0, self._share, LAST)
        self.changed.update(dict.fromkeys(flow.shares))

    def _share(self, now: float) -> None:
        """The event: rates anew, for all whom the change can reach."""
        flows = self._reached()
        self.changed = {}
        for flow in flows:
            flow.left -= flow.speed * (now - flow.since)
            flow.since = now
        for flow, speed in _max_min(flows).items():
            rest, flow.speed = max(flow.left, 0.0) / speed, speed
            ends = now if rest <= SAME_TIME * flow.work else now + rest
            if ends != flow.ends:
                flow.ends = ends
                self.engine.post(ends, 0, lambda time, flow=flow: self._end(time, flow), LAST)

    def _reached(self) -> list[Flow]:
        """The flows of the changed things, those of the things that these use, and so on."""
        things, found = list(self.changed), dict.fromkeys(self.changed)
        flows: dict[Flow, None] = {}
        while things:
            for flow in self.users[things.pop()]:
                if flow not in flows:
                    flows[flow] = None
                    new = [thing for thing in flow.shares if thing not in found]
                    found.update(dict.fromkeys(new))
                    things += new
        return list(flows)

    def _end(self, now: float, flow: Flow) -> None:
        """The event: a flow has done its work, unless it was slowed down meanwhile. What ends with it ends now."""
        if flow.ends != now or flow not in self.users[next(iter(flow.shares))]:
            return
        for thing in flow.shares:
            del self.users[thing][flow]
        self._change(now, flow)
        flow.finish(now)


def _max_min(flows: list[Flow]) -> dict[Flow, float]:
    """The speed of each flow: bytes a second are shared fairly, by progressive filling."""
    rising: defaultdict[Hashable, dict[Flow, None]] = defaultdict(dict)  # of each thing, the flows that still rise
    load: defaultdict[Hashable, float] = defaultdict(float)  # that these put on it, for each byte a second
    for flow in flows:
        for thing, share in flow.shares.items():
            rising[thing][flow] = None
            load[thing] += share
    left, speeds = dict.fromkeys(load, 1.0), {}
    while rising:
        full = min(rising, key=lambda thing: left[thing] / load[thing])
        rate = max(left[full] / load[full], 0.0)  # bytes a second
        for flow in [*rising[full]]:
            speeds[flow] = min(1.0, rate * flow.beta)
            for thing, share in flow.shares.items():
                left[thing] -= rate * share
                load[thing] -= share
                del rising[thing][flow]
                if not rising[thing]:
                    del rising[thing]
    return speeds
