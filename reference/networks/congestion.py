"""Congestion: flows that share links, who gets how much, and how senders find out without asking.

Unless told otherwise, a link of the virtual cluster carries one message at a time and the others wait (booking.py).
Real networks interleave packets, so flows share, as in launch(..., sharing="fair"). Two questions, two classic answers:

    who should get how much?   max-min fair shares (Bertsekas & Gallager, "Data Networks", 1992, chapter 6): no flow
                               can get more without taking it from one that has no more. Found by progressive filling:
                               let all rates rise together; where a link is full, its flows stop.
    how do senders get there?  additive increase, multiplicative decrease (Chiu & Jain 1989): each hears only "too much"
                               or "not too much". To add a constant and to take away a fraction makes them equal; no
                               other pairing of the two does. TCP works so and, refined, DCQCN of RoCE v2 (Zhu 2015).

Incast: N senders to one port get 1/N of it each, so what takes 1 ms alone takes N ms, with not one link slower.
Quality of service: `weights` (a flow of weight 2 counts for two) or `strict_priority` (the others get what is left).

Left out  Queues and lost packets: TCP can do far worse than 1/N in an incast (Vasudevan et al. 2009). Round trips:
          `linear_control` lets all hear at once. Which way flows go.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain, permutations
from math import inf
from typing import Any

import numpy as np

from .network import Network, levels_of

Flow = str | Collection[Hashable]  # the links that it crosses; a string is one link


def max_min(
    flows: Sequence[Flow], capacities: Mapping[Hashable, float], weights: Sequence[float] | None = None
) -> np.ndarray:
    """The max-min fair rate of each flow, float64 [flows], in the unit of the capacities.

    flows: the links that each one crosses, ["port", ("cable", 3)] or just "port". A flow that wants no more than d
    has a link of capacity d to itself. With weights (positive) rate / weight is what is shared fairly. Raises
    ValueError for what makes no sense.
    """
    crosses, left, weight = _checked(flows, capacities, weights)
    rates, rising = np.zeros(len(flows)), np.ones(len(flows), bool)
    while rising.any():
        load = crosses @ (weight * rising)  # per link, the weight of the flows that still rise
        level = np.divide(left, load, out=np.full(len(left), np.inf), where=load > 0)
        full = level.argmin()  # the link that is full first: the bottleneck of its flows
        stop = rising & (crosses[full] > 0)
        rates[stop] = weight[stop] * level[full]
        left = np.maximum(left - crosses @ np.where(stop, rates, 0.0), 0.0)
        rising &= ~stop
    return rates


def _links(flow: Flow) -> set[Hashable]:
    return {flow} if isinstance(flow, str) else set(flow)


def _checked(flows, capacities, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(links x flows: 1 where a flow crosses a link, capacities, weights), or ValueError."""
    sets = [*map(_links, flows)]
    for number, links in enumerate(sets):
        if not links or links - set(capacities):
            lacking = sorted(map(str, links - set(capacities))) or "no link at all"
            raise ValueError(f"flow {number} crosses {lacking}; each must cross links that have a capacity")
    left, weight = np.array([*capacities.values()], float), np.array([1.0] * len(sets) if weights is None else weights)
    if not (np.isfinite(left).all() and (left >= 0).all()):
        raise ValueError(f"capacities must be finite and not negative, got {dict(capacities)}")
    if weight.shape != (len(sets),) or not ((weight > 0) & np.isfinite(weight)).all():
        raise ValueError(f"{len(sets)} flows need {len(sets)} positive weights, got {weights}")
    return np.array([[link in links for links in sets] for link in capacities], float), left, weight


def strict_priority(flows: Sequence[Flow], capacities: Mapping[Hashable, float], classes: Sequence[int]) -> np.ndarray:
    """Rates [flows] if class 0 is served first and each further class shares, max-min, what those before it leave."""
    if len(classes) != len(flows):
        raise ValueError(f"{len(flows)} flows need {len(flows)} classes, got {len(classes)}")
    left, rates = dict(capacities), np.zeros(len(flows))
    for served in sorted(set(classes)):
        mine = [number for number, own in enumerate(classes) if own == served]
        rates[mine] = max_min([flows[number] for number in mine], left)
        for number in mine:
            left |= {link: max(0.0, left[link] - rates[number]) for link in _links(flows[number])}
    return rates


def finish_times(flows: Sequence[Flow], capacities: Mapping[Hashable, float], nbytes: Sequence[float]) -> np.ndarray:
    """Seconds [flows] until each has moved its bytes, if all begin at 0 and share max-min; who is done gives way."""
    left, done, now = np.array(nbytes, float), np.zeros(len(flows)), 0.0
    going = [number for number in range(len(flows)) if left[number] > 0]
    while going:
        rates = max_min([flows[number] for number in going], capacities)
        if not rates.all():
            raise ValueError(f"flow {going[rates.argmin()]} never ends: a link on its way has capacity 0")
        step = (left[going] / rates).min()
        now += step
        left[going] -= rates * step
        done[going] = now
        going = [number for number in going if left[number] > 1e-9 * nbytes[number]]
    return done


def on_network(
    network: Network, pairs: Iterable[tuple[int, int]]
) -> tuple[list[list[Hashable]], dict[Hashable, float]]:
    """Flows between (source, destination) ranks, for `max_min`: the ports and links of each, and their bytes/s.

    In a tree of switches a port is as fast as the links of level 0, a cable as those of the level above it. Other
    networks tell how fast a way is, and not its links: a port or link counts as fast as the fastest way through it
    between any two of these ranks. Raises ValueError if beta is 0.
    """
    pairs = list(pairs)
    flows = [_crossed(network, a, b) for a, b in pairs]
    if levels := levels_of(network):
        level = {link: link[0] + 1 if isinstance(link[0], int) else 0 for flow in flows for link in flow}
        betas = {link: levels[depth].beta for link, depth in level.items()}
    else:
        betas = dict.fromkeys(chain.from_iterable(flows), inf)
        for a, b in permutations(sorted(set(chain.from_iterable(pairs))), 2):
            for link in betas.keys() & set(_crossed(network, a, b)):
                betas[link] = min(betas[link], network.route(a, b).beta)
    if 0 in betas.values() or any(level.beta == 0 for level in levels):
        raise ValueError("a link with beta = 0 carries any number of bytes at once: there is nothing to share")
    return flows, {link: 1 / beta for link, beta in betas.items()}


def _crossed(network: Network, a: int, b: int) -> list[Any]:
    """The ports and links of a way."""
    return [("port out", a), *network.route(a, b).links, ("port in", b)]


def linear_control(
    rates: Sequence[float], capacity: float, up: tuple[float, float], down: tuple[float, float], steps: int
) -> np.ndarray:
    """Rates over time, [steps + 1, flows], when all hear in each step whether they send more than the link carries.

    up, down: (a, b) of x <- a + b x while the sum is at most `capacity`, and else.
    """
    history = [np.array(rates, float)]
    for _ in range(steps):
        a, b = down if history[-1].sum() > capacity else up
        history.append(np.maximum(0.0, a + b * history[-1]))
    return np.array(history)


def aimd(rates: Sequence[float], capacity: float, increase: float, decrease: float, steps: int) -> np.ndarray:
    """Add `increase` while there is room, multiply by `decrease` (0.5 for TCP) when there is not: they become equal.

    An increase leaves the difference of two flows as it is, a decrease multiplies it by `decrease`.
    """
    if increase <= 0 or not 0 < decrease < 1:
        raise ValueError(f"increase must be positive and decrease between 0 and 1, got {increase} and {decrease}")
    return linear_control(rates, capacity, (increase, 1.0), (0.0, decrease), steps)


def fairness(rates: np.ndarray) -> np.ndarray:
    """Jain's index (sum x)^2 / (n sum x^2) over the last axis: 1 if all are equal, 1/n if one has everything.

    Jain, Chiu & Hawe (1984). Raises ValueError if nobody sends anything.
    """
    rates = np.asarray(rates, float)
    squares = (rates**2).sum(axis=-1)
    if (squares == 0).any():
        raise ValueError("nobody sends anything: the index is not defined when all rates are 0")
    return rates.sum(axis=-1) ** 2 / (rates.shape[-1] * squares)
