"""Paths: which way a message should take, over which of several at once, and what to do when one is busy.

Idea      "Dijkstra, with bandwidths as weights" says nothing until it is said what is added up. Dijkstra finds the
          least label if the label of a way cannot fall as the way grows longer, and the better of two ways to a node
          stays as good when both go on. Two labels do:
          max(-bandwidth)         of the links so far: the widest path, whose narrowest link is widest
          sum(alpha + n / BW)     time, if every node takes in the whole message before it sends it on
Before    the least sum of BW      seeks out the slow links
          the least sum of 1 / BW  is the second label without alpha; it trades one narrow link for two wide ones, and
                                   is neither the widest path nor, where nodes send on what they have, the quickest
After     `widest_path` for a long stream, `quickest_path` for a message of n bytes
          NCCL takes a breadth-first search from every GPU and card: the nearest kind of link first, then width, the
          least of the links' so far, then fewest hops (ncclTopoSetPaths in src/graph/paths.cc, 2.30.7, June 2026;
          topology.rate_path). On a DGX-1 it finds the ways by way of another GPU (PATH_NVB).
Left out  What others do meanwhile, but for `reroute`; routing in the network itself, which most switches decide alone.
Source    Dijkstra (1959) for all of it; Pollack, "The maximum capacity through a network" (1960): the widest path; Chen
          & Chin, "The quickest path problem" (1990): alpha and bandwidth together; Ford & Fulkerson (1956): no way of
          splitting beats the narrowest cut.

Letters: bandwidth {u: {v: bytes/s}}, a link from u to v that is not named does not exist; one in each direction, so
name both. A fabric of networks/fabrics.py, in cables instead of bytes/s, is such a graph. n bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count, pairwise
from math import inf
from typing import NamedTuple

import numpy as np

Node = Hashable
Links = Mapping[Node, Mapping[Node, float]]


class Unreachable(ValueError):
    """No way leads there."""


class Path(NamedTuple):
    """The nodes of a way, ends included, and the bandwidth of its narrowest link (bytes/s; inf if it has no link)."""

    nodes: tuple[Node, ...]
    bandwidth: float

    @property
    def links(self) -> list[tuple[Node, Node]]:
        """The links of the way, in order."""
        return list(pairwise(self.nodes))


def widest_path(bandwidth: Links, a: Node, b: Node) -> Path:
    """The way from a to b whose narrowest link is widest; of several the one found first.

    Raises ValueError for a node that is not there, a negative bandwidth, and if no way leads from a to b.
    """
    return _dijkstra(bandwidth, a, b, -inf, lambda label, u, v: max(label, -bandwidth[u][v]))


def quickest_path(
    alpha: float | Links, bandwidth: Links, a: Node, b: Node, nbytes: float, cut_through: bool = False
) -> Path:
    """The way on which nbytes are soonest at b; `way_seconds` tells when. alpha: s of every link, or {u: {v: s}}.

    Store and forward, unless told: the times of the links add up, so they are the weights. With cut_through a node
    sends on what has come, and only the narrowest link counts: sum(alpha) + n / min(BW). That is no sum over links, so
    Dijkstra alone does not find it; but the best way has some narrowest link, so it is among the ways of least alpha
    over links at least that wide, one for every width that occurs (Chen & Chin 1990).
    Raises ValueError as widest_path does.
    """
    if not cut_through:
        return _dijkstra(bandwidth, a, b, 0.0, lambda t, u, v: t + _of(alpha, u, v) + nbytes / bandwidth[u][v])
    ways = [_dijkstra(bandwidth, a, b, 0.0, lambda t, u, v: t + _of(alpha, u, v))]  # raises if there is none at all
    for width in sorted({own for links in bandwidth.values() for own in links.values() if own > ways[0].bandwidth}):
        wide = {u: {v: own for v, own in links.items() if own >= width} for u, links in bandwidth.items()}
        try:
            ways.append(_dijkstra(wide, a, b, 0.0, lambda t, u, v: t + _of(alpha, u, v)))
        except Unreachable:
            break
    return min(ways, key=lambda way: way_seconds(way, alpha, bandwidth, nbytes, True))


def way_seconds(path: Path, alpha: float | Links, bandwidth: Links, nbytes: float, cut_through: bool = False) -> float:
    """When nbytes are at the end of this way, store and forward or cut-through."""
    latency = sum(_of(alpha, u, v) for u, v in path.links)
    if cut_through:
        return latency + nbytes / path.bandwidth
    return latency + sum(nbytes / bandwidth[u][v] for u, v in path.links)


def reroute(bandwidth: Links, load: Links, a: Node, b: Node) -> Path:
    """The widest way over what is free: bandwidth less load {u: {v: bytes/s}}. What is full counts as no link."""
    free = {
        u: {v: max(0.0, own - load.get(u, {}).get(v, 0)) for v, own in links.items()} for u, links in bandwidth.items()
    }
    return widest_path(free, a, b)


# Several ways at once -----------------------------------------------------------------------------------------------


def disjoint_paths(bandwidth: Links, a: Node, b: Node, most: int | None = None) -> list[Path]:
    """Ways from a to b that share no link, the widest first: take the widest, take its links out, go on.

    That is greedy: a way may block two others. `max_flow` says how much more would be possible.
    Raises ValueError as widest_path does.
    """
    left = {u: dict(links) for u, links in bandwidth.items()}
    found = [widest_path(left, a, b)]
    while len(found) != most and a != b:
        for u, v in found[-1].links:
            del left[u][v]
        try:
            found.append(widest_path(left, a, b))
        except Unreachable:
            break
    return found


def split(nbytes: int, paths: Sequence[Path], latencies: Sequence[float] | None = None) -> list[int]:
    """How many of nbytes go over each path, so that all end at once: in proportion to their bandwidths.

    latencies: seconds before the first byte of each is there, 0 unless told. A path that would only begin when the
    others are through gets nothing, so a short message takes one path. Whole bytes, nbytes in all.
    Raises ValueError for nbytes < 0 or no path.
    """
    if nbytes < 0 or not paths:
        raise ValueError(f"splitting needs nbytes >= 0 and at least 1 path, got {nbytes} bytes and {len(paths)} paths")
    late = np.zeros(len(paths)) if latencies is None else np.asarray(latencies, float)
    width, used = np.array([path.bandwidth for path in paths]), np.ones(len(paths), bool)
    while True:
        end = (nbytes + (late * width)[used].sum()) / width[used].sum()
        if (late[used] <= end).all():
            break
        used &= late < late[used].max()  # the latest one does not pay; without it all end sooner than it begins
    shares = np.where(used, (end - late) * width, 0.0)
    return np.diff(np.rint(np.cumsum(shares)).astype(int), prepend=0).tolist()  # rounded so that none is lost


def max_flow(bandwidth: Links, a: Node, b: Node) -> float:
    """The bytes/s from a to b over all ways together, if shared as well as can be: no splitting gives more.

    As a linear program: flows within the bandwidths, and what comes to a node leaves it (Ford & Fulkerson 1956).
    """
    from scipy.optimize import linprog

    _check(bandwidth, a, b)
    links = [(u, v, own) for u, own_links in bandwidth.items() for v, own in own_links.items()]
    if a == b or not links:
        return inf if a == b else 0.0
    balance = {node: np.zeros(len(links)) for node in _nodes(bandwidth)}
    for i, (u, v, _) in enumerate(links):
        balance[u][i] -= 1
        balance[v][i] += 1
    kept = np.array([row * (node not in (a, b)) for node, row in balance.items()])
    widest = max(own for *_, own in links) or 1.0  # the unit, since solvers dislike 1e11
    bounds = [(0, own / widest) for *_, own in links]
    return -linprog(-balance[b], A_eq=kept, b_eq=np.zeros(len(kept)), bounds=bounds).fun * widest


# Dijkstra -------------------------------------------------------------------------------------------------------------


def _dijkstra(bandwidth: Links, a: Node, b: Node, start: float, extend: Callable[[float, Node, Node], float]) -> Path:
    """The way from a to b with the least label; extend(label, u, v) is that of a way with the link u, v added to it."""
    _check(bandwidth, a, b)
    came, order = {}, count()  # the order of arrival decides between equal labels, nodes need not be comparable
    ahead: list[tuple[float, int, Node, Node | None]] = [(start, next(order), a, None)]
    while ahead and b not in came:
        label, _, u, before = heappop(ahead)
        if u not in came:
            came[u] = before
            for v, own in bandwidth.get(u, {}).items():
                if v not in came and own > 0:
                    heappush(ahead, (extend(label, u, v), next(order), v, u))
    if b not in came:
        raise Unreachable(f"no way leads from {a!r} to {b!r}: from there only {sorted(map(str, came))} can be reached")
    way = [b]
    while way[-1] != a:
        way.append(came[way[-1]])
    nodes = tuple(reversed(way))
    return Path(nodes, min((bandwidth[u][v] for u, v in pairwise(nodes)), default=inf))


def _of(alpha: float | Links, u: Node, v: Node) -> float:
    return alpha[u][v] if isinstance(alpha, Mapping) else alpha


def _nodes(bandwidth: Links) -> set[Node]:
    return {*bandwidth, *(v for links in bandwidth.values() for v in links)}


def _check(bandwidth: Links, a: Node, b: Node) -> None:
    for node in (a, b):
        if node not in _nodes(bandwidth):
            raise ValueError(f"{node!r} is not a node of this graph, which has {sorted(map(str, _nodes(bandwidth)))}")
    for u, links in bandwidth.items():
        for v, own in links.items():
            if not 0 <= own < inf:
                raise ValueError(f"a bandwidth is finite and >= 0 bytes/s, but from {u!r} to {v!r} it is {own}")
