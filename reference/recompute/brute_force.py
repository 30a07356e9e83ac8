"""The best schedule of a small chain or graph by trying them all: what the other methods are held against.

Idea      What is live now is a node; an operation leads to another one and takes its seconds; it is allowed if its peak
          is within the budget. The quickest way to the end is Dijkstra's shortest path. Nothing is assumed of a
          schedule: what was kept may be dropped and computed again, in any order.
Price     Up to n 4^n nodes for a chain of n links, 4^n for a graph of n operations.
Source    Dijkstra, "A note on two problems in connexion with graphs" (1959).
Try       quickest_chain(equal_links(4, internals=2), 9)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count

from .chain import KEEP, Chain, ChainOperation, Held, backward, forward, free
from .graph import OperationGraph

Step = tuple[float, object, Hashable]  # seconds of an operation, the operation, the node that it leads to


def shortest(start: Hashable, steps: Callable[[Hashable], Iterable[Step]], done: Callable) -> tuple[float, list] | None:
    """Seconds and operations of the quickest way from `start` to a node that is done; None if there is none."""
    order, best = count(), {start: 0.0}
    waiting: list = [(0.0, next(order), start, None)]
    while waiting:
        now, _, node, way = heappop(waiting)
        if done(node):
            return now, _backwards(way)
        if now > best[node]:
            continue
        for seconds, operation, after in steps(node):
            if now + seconds < best.get(after, float("inf")):
                best[after] = now + seconds
                heappush(waiting, (now + seconds, next(order), after, (operation, way)))
    return None


def _backwards(way: tuple | None) -> list:
    found = []
    while way is not None:
        operation, way = way
        found.append(operation)
    return found[::-1]


# Chains ---------------------------------------------------------------------------------------------------------------


def quickest_chain(chain: Chain, budget: int) -> tuple[float, list[ChainOperation]] | None:
    """Seconds and operations of the quickest schedule of a chain within so many peak bytes, None if none fits."""
    n = chain.n
    every = [forward(i, keep) for i in range(n) for keep in KEEP] + [
        act(i) for i in range(n) for act in (backward, free)
    ]

    def steps(node) -> Iterator[Step]:
        held = Held(n)
        for operation in every:
            held.values, held.records, held.gradient = set(node[0]), set(node[1]), node[2]
            if held.trouble(operation):
                continue
            before = held.live(chain)
            held.take(operation)
            if max(before + chain.peak(operation), held.live(chain)) <= budget:
                after = frozenset(held.values), frozenset(held.records), held.gradient
                yield chain.seconds(operation), operation, after

    return shortest((frozenset({0}), frozenset(), n), steps, lambda node: node[2] == 0)


# Graphs ---------------------------------------------------------------------------------------------------------------


def quickest_graph(graph: OperationGraph, budget: int, ordered: bool = False) -> tuple[float, list[int]] | None:
    """Seconds and the order of computing of the quickest plan of a graph within so many peak bytes, or None.

    Every vertex must have been computed once; any value may be dropped at any time. ordered: vertices are computed for
    the first time in the graph's order, as in Checkmate's programme.
    """
    vertices = graph.vertices

    def steps(node) -> Iterator[Step]:
        live, computed = node
        held = sum(vertices[v].nbytes for v in live)
        for v, vertex in enumerate(vertices):
            if v in live:
                yield 0.0, None, (live - {v}, computed)
            elif ordered and v > len(computed):
                return
            elif live.issuperset(vertex.parents) and held + vertex.nbytes + vertex.working <= budget:
                yield vertex.seconds, v, (live | {v}, computed | {v})

    found = shortest((frozenset(), frozenset()), steps, lambda node: len(node[1]) == len(vertices))
    return None if found is None else (found[0], [v for v in found[1] if v is not None])
