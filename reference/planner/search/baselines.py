"""Searches without a proof: random, greedy and annealed. For comparison with the exhaustive one.

Idea      Each asks for the price of a layout, again and again, and keeps the fastest that fits:

              random_search   any layout of the space, each equally likely
              greedy          the best neighbour, until none is better; then from another random layout
              annealing       a random neighbour; also a slower one, with probability exp(-difference / temperature)

          Neighbours differ in one thing: a prime factor that moves from one axis to another, the micro-batch or the
          chunks a factor more or less, another stage of ZeRO, another way to recompute. A layout that does not fit is
          slower by how far it is over, so that a walk can cross it.
Price     A price for each layout that is looked at, some 50 microseconds, and no proof at the end.
Left out  Searches that are trained, as by PPO: each of their steps asks for prices, too.
Source    Kirkpatrick, Gelatt & Vecchi, "Optimization by Simulated Annealing" (1983).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from random import Random
from typing import NamedTuple

from ..predict import Prediction, priced
from ..spec import LayoutSpec
from .space import LayoutSpace

AXES = ("data", "tensor", "stages", "context")
OVER = 3  # a layout that holds twice the memory is taken for 2^3 times as slow


class SearchRun(NamedTuple):
    """best: the fastest layout found that fits, None if none did; curve: its seconds after each price, inf at first."""

    best: Prediction | None
    curve: list[float]


class _Asked:
    """What has been priced: at most `prices` layouts; `full` says that no more may be."""

    def __init__(self, space: LayoutSpace, prices: int):
        if prices < 1:
            raise ValueError(f"prices must be at least 1, got {prices}")
        self.space, self.prices = space, prices
        self.machine = space.machine._replace(memory=space.limit)
        self.best: Prediction | None = None
        self.curve: list[float] = []

    @property
    def full(self) -> bool:
        return len(self.curve) >= self.prices

    def price(self, spec: LayoutSpec) -> float:
        """Seconds, times OVER-th power of how many times the memory it holds."""
        one = priced(self.space.model, self.machine, spec, self.space.global_batch, self.space.length)
        if one.fits and (self.best is None or one.seconds.total < self.best.seconds.total):
            self.best = one
        self.curve.append(math.inf if self.best is None else self.best.seconds.total)
        return one.seconds.total * max(1.0, one.held.total / self.space.limit) ** OVER

    @property
    def run(self) -> SearchRun:
        return SearchRun(self.best, self.curve)


@lru_cache(maxsize=1)  # runs with several seeds draw from the same layouts
def _layouts(space: LayoutSpace) -> list[LayoutSpec]:
    return list(space.specs())


def random_search(space: LayoutSpace, prices: int, seed: int = 0) -> SearchRun:
    """Layouts drawn with replacement. Raises ValueError for fewer than one price."""
    asked, every = _Asked(space, prices), _layouts(space)
    for spec in Random(seed).choices(every, k=prices):
        asked.price(spec)
    return asked.run


def greedy(space: LayoutSpace, prices: int, seed: int = 0) -> SearchRun:
    """Steepest descent from random layouts. Raises ValueError for fewer than one price."""
    asked, every, random = _Asked(space, prices), _layouts(space), Random(seed)
    while not asked.full:
        at = random.choice(every)
        price, better = asked.price(at), True
        while better and not asked.full:
            tried = [(asked.price(spec), spec) for spec in neighbours(space, at) if not asked.full]
            better = bool(tried) and min(tried)[0] < price
            if better:
                price, at = min(tried)
    return asked.run


def annealing(space: LayoutSpace, prices: int, seed: int = 0, hot: float = 0.3, cold: float = 0.003) -> SearchRun:
    """A walk that cools from `hot` to `cold`: temperatures, in logarithms of seconds.

    Raises ValueError for fewer than one price.
    """
    asked, random = _Asked(space, prices), Random(seed)
    at = random.choice(_layouts(space))
    price = asked.price(at)
    while not asked.full:
        temperature = hot * (cold / hot) ** (len(asked.curve) / prices)
        near = neighbours(space, at)
        if not near:
            break
        spec = random.choice(near)
        other = asked.price(spec)
        if other <= price or random.random() < math.exp(-math.log(other / price) / temperature):
            at, price = spec, other
    return asked.run


def neighbours(space: LayoutSpace, spec: LayoutSpec) -> list[LayoutSpec]:
    """Layouts of the space that differ from this in one thing."""
    near = [spec._replace(zero=zero) for zero in range(4)]
    near += [spec._replace(recompute=recompute) for recompute in space.recomputes]
    for q in primes(space.global_batch):
        near += _scaled(spec, "micro_batch", q)
    for q in primes(space.model.layers):
        near += _scaled(spec, "chunks", q)
    for q in primes(space.ranks):
        for source, dest in permutations(AXES, 2):
            if getattr(spec, source) % q == 0:
                near.append(
                    spec._replace(**{source: getattr(spec, source) // q, dest: getattr(spec, dest) * q}, chunks=1)
                )
    return [one for one in dict.fromkeys(near) if one != spec and _possible(space, one)]


def _scaled(spec: LayoutSpec, field: str, q: int) -> list[LayoutSpec]:
    value = getattr(spec, field)
    return [spec._replace(**{field: value * q})] + ([spec._replace(**{field: value // q})] if value % q == 0 else [])


def _possible(space: LayoutSpace, spec: LayoutSpec) -> bool:
    if spec.zero not in space.stages_of_zero(spec):
        return False
    return not spec.trouble(space.model, space.machine, space.global_batch, space.length)


def primes(n: int) -> list[int]:
    """The prime factors of n, each once, ascending."""
    found, q = [], 2
    while n > 1:
        if n % q == 0:
            found.append(q)
            while n % q == 0:
                n //= q
        q += 1
    return found
