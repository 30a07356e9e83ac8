"""The ways of many messages at a time, as arrays: what the evaluation of a schedule asks a network for.

Idea      In a tree of switches all ways are worked out together, level by level. Any other network is asked for one
          route after the other; most schedules send between the same ranks in every round, so ways are remembered.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .network import COSTS, Network, levels_of

REMEMBERED = 2**20  # messages whose ways are kept


class Ways(NamedTuple):
    """Of each message: alpha (s), beta (s/byte), the gap that counts (s), the numbers of its links, -1 for none.

    Arrays of shape [messages], links of [messages, k]. links is None if no message holds any.
    """

    alpha: np.ndarray
    beta: np.ndarray
    gap: np.ndarray
    links: np.ndarray | None


class Router(Protocol):
    """What finds the ways of many messages."""

    @property
    def number(self) -> int:
        """Of the links that have been named so far."""

    def ways(self, senders: np.ndarray, receivers: np.ndarray) -> Ways:
        """The way of each message."""


def router(network: Network, P: int) -> Router:
    """What finds ways among P ranks of this network. Raises ValueError if a tree of switches has not so many."""
    return _Tree(levels_of(network), P) if levels_of(network) else _Routes(network, P)


class _Tree:
    """Ways in a tree of switches."""

    def __init__(self, levels: tuple, P: int):
        if levels[-1].ranks < P:
            raise ValueError(f"{P} ranks are not on one network: it holds {levels[-1].ranks}")
        self.levels = [level for level in levels if level.ranks < P]
        self.top = levels[len(self.levels)]
        self.first, self.number = [], 0  # the number of each level's first cable, up and down
        for level in self.levels:
            cables = -(-P // int(level.ranks)) * level.uplinks
            self.first.append((self.number, self.number + cables))
            self.number += 2 * cables

    def ways(self, senders: np.ndarray, receivers: np.ndarray) -> Ways:
        """Level by level: links are [messages, 2 levels]."""
        top, apart = self.top, np.ones(len(senders), bool)
        if not self.levels:  # all alike: one number each, seen as an array
            alpha, beta, _ = np.broadcast_to(_costs(top), (3, len(senders)))
            return Ways(alpha, beta, np.broadcast_to(min(top.gap, top.alpha), len(senders)), None)
        costs, links = np.zeros((3, len(senders))), []
        for level, (up, down) in zip(self.levels, self.first, strict=True):
            costs = np.maximum(costs, np.where(apart, _costs(level), 0.0))
            here, there = senders // int(level.ranks), receivers // int(level.ranks)
            apart, cable = apart & (here != there), receivers % level.uplinks
            links += [
                np.where(apart, first + group * level.uplinks + cable, -1)
                for first, group in ((up, here), (down, there))
            ]
        alpha, beta, gap = np.maximum(costs, np.where(apart, _costs(top), 0.0))
        return Ways(alpha, beta, np.minimum(gap, alpha), np.stack(links, axis=1))


def _costs(level: Any) -> np.ndarray:
    """A column: alpha, beta and gap of a level's links."""
    return np.array([[getattr(level, cost)] for cost in COSTS])


class _Routes:
    """Ways in any network, one route after the other."""

    def __init__(self, network: Network, P: int):
        self.route, self.numbers = network.route, {}  # the number of each link, by its name
        self.known: dict[Any, Ways] = {}
        self.most = REMEMBERED // P

    @property
    def number(self) -> int:
        """Of the links that have been named so far."""
        return len(self.numbers)

    def ways(self, senders: np.ndarray, receivers: np.ndarray) -> Ways:
        """As before, if these senders have sent to these receivers before."""
        key = senders.tobytes(), receivers.tobytes()
        if (found := self.known.get(key)) is None:
            found = self._ask(senders.tolist(), receivers.tolist())
            if len(self.known) < self.most:
                self.known[key] = found
        return found

    def _ask(self, senders: list[int], receivers: list[int]) -> Ways:
        routes = list(map(self.route, senders, receivers))
        longest = max((len(route.links) for route in routes), default=0)
        links = np.full((len(routes), longest), -1)
        for row, route in enumerate(routes):
            links[row, : len(route.links)] = [self.numbers.setdefault(link, self.number) for link in route.links]
        alpha, beta, gap = (np.array([getattr(route, cost) for route in routes], float) for cost in COSTS)
        return Ways(alpha, beta, np.minimum(gap, alpha), links if longest else None)
