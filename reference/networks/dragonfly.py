"""A dragonfly: groups of routers, all joined, with one link between every two groups.

Idea      Routers of a group act as one large router, so that three links lead anywhere: to the router of the own group
          that has the link to the other group, across, and on to the router that is meant. This is minimal routing.
          There is one such link a pair of groups: traffic from one group to one other meets there.
Price     alpha + n beta of the slowest link of the way; the message holds all its links for g + n beta.
Source    Kim, Dally, Scott & Abts, "Technology-driven, highly-scalable dragonfly topology" (2008).
Left out  Valiant's detour over a third group, which spreads such traffic, and the choice between the two by load.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .network import GAP, Route, check_cost, check_gap


@dataclass(frozen=True)
class Dragonfly:
    """p ranks at a router, a routers in a group, h global links at a router: a h + 1 groups, as large as it can be.

    alpha, beta: seconds a message and a byte within a group; alpha_global, beta_global: between groups; gap: as of a
    Route. The ranks of a router are a node and meet no link. fabrics.dragonfly(a, h) is the graph of its routers.
    Raises ValueError for p, a or h that are no whole numbers of at least 1.
    """

    p: int
    a: int
    h: int
    alpha: float = 1e-6
    beta: float = 4e-11
    alpha_global: float = 2e-6
    beta_global: float = 4e-11
    gamma: float = 0.0
    gap: float = GAP

    def __post_init__(self):
        check_gap(self.gap)
        if not all(isinstance(number, int) and number >= 1 for number in (self.p, self.a, self.h)):
            raise ValueError(f"p, a and h of a dragonfly are whole numbers of at least 1, got {self.p, self.a, self.h}")
        for name in ("alpha", "beta", "alpha_global", "beta_global", "gamma"):
            check_cost(name, getattr(self, name))

    def node(self, rank: int) -> int:
        """The router of this rank."""
        return rank // self.p

    def route(self, source: int, dest: int) -> Route:
        """The shortest way. Links are (router, next router). Raises ValueError for a rank that it does not have."""
        ports = self.a * self.h
        P = self.p * self.a * (ports + 1)
        if not (0 <= source < P and 0 <= dest < P):
            raise ValueError(f"ranks {source} and {dest} are not on one dragonfly: it has ranks 0 to {P - 1}")
        if source == dest:
            return Route(0.0, 0.0)
        first, last = self.node(source), self.node(dest)
        here, there = first // self.a, last // self.a
        if here == there:
            return Route(self.alpha, self.beta, ((first, last),) if first != last else (), self.gap)
        port = (there - here - 1) % (ports + 1)  # leads to the group port + 1 further on
        way = [first, here * self.a + port // self.h, there * self.a + (ports - 1 - port) // self.h, last]
        links = tuple(hop for hop in pairwise(way) if hop[0] != hop[1])
        return Route(max(self.alpha, self.alpha_global), max(self.beta, self.beta_global), links, self.gap)
