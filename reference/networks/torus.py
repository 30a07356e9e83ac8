"""A torus: a grid of ranks, each axis closed to a ring, and one way between any two ranks.

Idea      A message corrects its coordinates one after the other, the last axis (on which neighbouring ranks sit) first,
          each in the shorter direction: dimension-ordered routing. It needs no tables, and messages on different
          axes cannot wait for each other in a circle. It does not spread load: who wants the same link waits, while
          others are idle.
Price     alpha + hops * hop + n beta; the message holds all links of its way for g + n beta, in its direction.
Source    Dally & Towles, "Principles and Practices of Interconnection Networks" (2004), chapters 5 and 8.
Left out  Virtual channels, which the rings of an axis need against deadlock; ways that avoid what is busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .network import GAP, Route, check_cost, check_gap


@dataclass(frozen=True)
class Torus:
    """sides[0] x sides[1] x ... ranks, the last axis running fastest: the k-ary n-cube, if all n sides are k.

    alpha, beta, gap: as of a Route, hop: seconds a link more. Of two ways round a ring that are equally long
    a message takes the one to higher numbers. fabrics.torus(sides) is its graph.
    Raises ValueError for sides that are no whole numbers of at least 1.
    """

    sides: tuple[int, ...]
    alpha: float = 1e-6
    beta: float = 1e-10
    gamma: float = 0.0
    hop: float = 0.0
    gap: float = GAP

    def __post_init__(self):
        check_gap(self.gap)
        if not self.sides or not all(isinstance(side, int) and side >= 1 for side in self.sides):
            raise ValueError(f"sides of a torus are whole numbers of at least 1, got {self.sides}")
        for name in ("alpha", "beta", "gamma", "hop"):
            check_cost(name, getattr(self, name))

    def node(self, rank: int) -> int:
        """Each rank is a node of its own."""
        return rank

    def route(self, source: int, dest: int) -> Route:
        """Axis by axis. Links are (rank, next rank). Raises ValueError for a rank that it does not have."""
        P = prod(self.sides)
        if not (0 <= source < P and 0 <= dest < P):
            raise ValueError(f"ranks {source} and {dest} are not on one torus: it has ranks 0 to {P - 1}")
        if source == dest:
            return Route(0.0, 0.0)
        links, at, step = [], source, 1
        for side in reversed(self.sides):
            ahead = (dest // step - at // step) % side
            direction = 1 if ahead <= side - ahead else -1
            for _ in range(min(ahead, side - ahead)):
                place = at // step % side
                following = at + ((place + direction) % side - place) * step
                links.append((at, following))
                at = following
            step *= side
        return Route(self.alpha + len(links) * self.hop, self.beta, tuple(links), self.gap)
