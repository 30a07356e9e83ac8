"""Carry out a plan of a graph: compute vertices in a given order, some again, and drop each value when it can go.

Idea      A plan is an order of computing, in which a vertex may stand several times. When a value can go follows from
          that: it is live from where it is computed to where it is read for the last time before it is computed anew.
          So the order says the seconds and the live bytes at every moment (`live_bytes`); and a recorded graph is
          carried out by the same walk (`carry_out`), with torch's operations.
Exact     Peak bytes of a recorded graph equal the meter's, gradients those of autograd to the last bit.
Source    Jain et al., "Checkmate" (2020), section 4.9, for freeing; here by liveness.
Try       plan_cost(graph, range(len(graph)))     # everything once, nothing thrown away before its last use
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..perf.flops import tensors
from ..perf.meter import Meter
from .graph import OperationGraph, ResultView


class PlanCost(NamedTuple):
    """Seconds of a plan, its peak of live bytes, how many operations it computes."""

    seconds: float
    peak: int
    operations: int


class PlanStep(NamedTuple):
    """One step of a plan: the vertex to compute, and the vertices whose values can go after it."""

    vertex: int
    drops: tuple[int, ...]


def steps(graph: OperationGraph, order: Sequence[int]) -> list[PlanStep]:
    """The order with what can go after each step.

    Raises ValueError if a vertex is computed before what it reads, or one is never computed.
    """
    ready: set[int] = set()
    for v in order:
        missing = [u for u in graph.vertices[v].parents if u not in ready]
        if missing:
            raise ValueError(f"vertex {v}, {graph.vertices[v].name}, reads {missing}, which have not been computed")
        ready.add(v)
    if len(ready) < len(graph):
        raise ValueError(f"the plan never computes vertices {sorted(set(range(len(graph))) - ready)}")
    needed: set[int] = set()
    found = []
    for v in reversed(order):
        parents = set(graph.vertices[v].parents)
        drops = (parents - needed) | ({v} - needed)
        needed = (needed - {v}) | parents
        found.append(PlanStep(v, tuple(sorted(drops))))
    return found[::-1]


def live_bytes(graph: OperationGraph, order: Sequence[int]) -> Iterator[tuple[float, int, int]]:
    """Of each step: when it ends, the most bytes that are live during it, and those that are live after it."""
    now, live = 0.0, dict[int, int]()
    for v, drops in steps(graph, order):
        vertex = graph.vertices[v]
        live.pop(v, None)  # computed anew although it was there: the old one goes first
        live[v] = vertex.nbytes
        now, peak = now + vertex.seconds, sum(live.values()) + vertex.working
        for u in drops:
            live.pop(u, None)
        yield now, peak, sum(live.values())


def plan_cost(graph: OperationGraph, order: Sequence[int]) -> PlanCost:
    """What a plan takes in all. Raises ValueError as `steps` does."""
    found = list(live_bytes(graph, order))
    return PlanCost(found[-1][0], max(peak for _, peak, _ in found), len(found))


# With torch's operations ----------------------------------------------------------------------------------------------


def carry_out(graph: OperationGraph, order: Sequence[int], meter: Meter | None = None) -> dict[str, Tensor]:
    """The gradients, by name ("x" that of the input), of a recorded graph computed in this order.

    meter: one that is running; it counts the gradients of weights as gradients from the moment they are made.
    Raises ValueError as `steps` does, or for a graph that was not recorded.
    """
    if not graph.calls:
        raise ValueError("this graph has no recorded calls: nothing can be carried out")
    wanted: dict[tuple[int, int], list[str]] = {}
    for name, made in graph.gradients.items():
        wanted.setdefault((made.call, made.result), []).append(name)
    values: dict[int, dict[int, Tensor]] = {}
    found: dict[str, Tensor] = {}
    for v, drops in steps(graph, order):
        for number, call in graph.calls[v]:
            values.pop(number, None)
            values[number] = _results(call, values)
            for i in list(values[number]):
                for name in wanted.get((number, i), ()):
                    found[name] = _look(graph.gradients[name], values)
                    if name != "x":
                        _ = meter and meter.hold("gradients", found[name])
                        values[number].pop(i)
        for u in drops:
            for number, _ in graph.calls[u]:
                values.pop(number, None)
    return found


def _results(call: Any, values: dict) -> dict[int, Tensor]:
    with torch.no_grad():
        made = call.operation(*_arguments(call.args, values), **_arguments(call.kwargs, values))
    return dict(enumerate(tensors(made if isinstance(made, tuple | list) else (made,))))


def _look(at: ResultView, values: dict) -> Tensor:
    return values[at.call][at.result].as_strided(at.size, at.stride, at.offset)


def _arguments(nested: Any, values: dict) -> Any:
    """Arguments with the tensors that ResultViews stand for."""
    if isinstance(nested, ResultView):
        return _look(nested, values)
    if isinstance(nested, Tensor):
        return nested.detach()
    if isinstance(nested, dict):
        return {key: _arguments(one, values) for key, one in nested.items()}
    if isinstance(nested, tuple | list):
        return type(nested)(_arguments(one, values) for one in nested)
    return nested
