"""From an order of forward passes and backward passes for the input (F and I) to a schedule: where each W goes.

Idea      Nobody but the optimizer waits for a W. So the order of F and I makes the shape of a schedule, and a W goes
          where it costs nothing: into a gap in which its rank would wait anyway. Until there is one it waits, but no
          longer than to the forward pass for which there is no memory left.
Method    The orders are followed in time, as simulate() does, and a W is put in where one of the two is the case. Which
          gap is long enough depends on the costs; the named schedules take all passes to be equally long.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from .schedule import Action, Schedule, flushed, turns
from .simulate import UNIT, Costs

Pass = tuple[str, int]
"""A kind and a stage; of which micro-batch, its place among the same passes of an order tells."""


def in_gaps(
    name: str,
    orders: Sequence[Iterable[Pass]],
    m: int,
    limit: float,
    costs: Costs = UNIT,
    kept: float = 1.0,
    slack: float = 0.0,
) -> Schedule:
    """The schedule that has these orders of F and I, each with micro-batches 0 ... m - 1, and every W in a gap.

    limit   activations that a rank has room for, as `activations` counts them, with `kept`
    slack   by what part of a W the next pass may be held up for it
    Raises ValueError if there is not enough room for these orders, or they wait for each other.
    """
    plan = Schedule(name, tuple(tuple(numbered(order, m)) for order in orders))
    done: dict[Action, tuple[float, int]] = {}  # when, and on which rank
    filled, late = [[] for _ in orders], [deque() for _ in orders]
    clock, live = [0.0] * len(orders), [0.0] * len(orders)
    for r, _, (action,), needed in turns(plan):
        start = max((when + costs.send * (where != r) for when, where in map(done.get, needed)), default=0.0)
        full = limit - 1 + 1e-9 if action.kind == "F" else math.inf
        while late[r]:
            took = costs.of("W", late[r][0].stage)
            if live[r] <= full and clock[r] + took > max(start, clock[r]) + slack * took:
                break
            filled[r].append(late[r].popleft())
            clock[r], live[r] = clock[r] + took, live[r] - kept
        if live[r] > full:
            raise ValueError(f"{name}: rank {r} has no room for {action}, it keeps {live[r]:g} of {limit:g} already")
        clock[r] = max(start, clock[r]) + costs.of(action.kind, action.stage)
        done[action] = clock[r], r
        filled[r].append(action)
        live[r] += 1 if action.kind == "F" else kept - 1
        if action.kind == "I":
            late[r].append(action._replace(kind="W"))
    if len(done) < sum(map(len, plan)):
        raise ValueError(f"{name}: these orders wait for each other")
    return flushed(name, [[*order, *rest] for order, rest in zip(filled, late)])


def numbered(order: Iterable[Pass], m: int) -> Iterator[Action]:
    """The n-th F (and I) of a stage is that of micro-batch n; passes of micro-batches from m on are left out."""
    count = Counter()
    for kind, stage in order:
        if count[kind, stage] < m:
            yield Action(kind, stage, count[kind, stage])
        count[kind, stage] += 1
