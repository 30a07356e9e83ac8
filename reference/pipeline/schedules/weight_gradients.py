"""Weight gradients in an order of forward passes and backward passes for the input (F and I): where each W goes.

Idea      Nobody but the optimizer waits for a W. So the order of F and I makes the shape of a schedule, and a W goes
          where it costs nothing: into a gap in which its rank would wait anyway. Until there is one it waits, but no
          longer than to the forward pass for which there is no memory left.
          The orders are followed in time, as simulate() does, and a W is put in where one of the two is the case. Which
          gap is long enough depends on the costs; the named schedules take all passes to be equally long.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..schedule import Action, Schedule, flushed, needs, topological_order
from ..simulate import UNIT, Costs

Pass = tuple[str, int]  # a kind and a stage; of which micro-batch, its place among the same passes of an order tells


class NoRoom(ValueError):
    """A rank would have to keep more than it has room for."""


class Cycle(ValueError):
    """Ranks wait for each other for good, or for what nobody does."""


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
    Raises NoRoom if there is not enough for these orders, Cycle if they wait for each other.
    """
    plan = Schedule(name, tuple(tuple(numbered(order, m)) for order in orders))
    ranks = [_Rank(costs, kept) for _ in orders]
    done: dict[Action, tuple[float, int]] = {}  # when, and on which rank
    for r, _, (action,), needed in topological_order(plan):
        start = max((when + costs.send * (where != r) for when, where in map(done.__getitem__, needed)), default=0.0)
        full = limit - 1 + 1e-9 if action.kind == "F" else math.inf
        rank = ranks[r]
        rank.fill(start, full, slack)
        if rank.live > full:
            raise NoRoom(f"{name}: rank {r} has no room for {action}, it keeps {rank.live:g} of {limit:g} already")
        rank.do(action, start)
        done[action] = rank.clock, r
    check_all(plan, done)
    return flushed(name, [[*rank.done, *rank.late] for rank in ranks])


@dataclass
class _Rank:
    """What a rank has done, the W that wait, until when it is busy, and how many activations it keeps."""

    costs: Costs
    kept: float
    done: list[Action] = field(default_factory=list)
    late: deque[Action] = field(default_factory=deque)
    clock: float = 0.0
    live: float = 0.0

    def do(self, action: Action, start: float = 0.0) -> None:
        """An action, which cannot begin before `start`."""
        self.clock = max(start, self.clock) + self.costs.of(action.kind, action.stage)
        self.live += {"F": 1.0, "I": self.kept - 1, "W": -self.kept}[action.kind]
        self.done.append(action)
        if action.kind == "I":
            self.late.append(action._replace(kind="W"))

    def fill(self, start: float, full: float, slack: float) -> None:
        """Do the W that have time until `start`, and those without which there is no room."""
        while self.late:
            took = self.costs.of("W", self.late[0].stage)
            if self.live <= full and self.clock + took > max(start, self.clock) + slack * took:
                break
            self.do(self.late.popleft())


def check_all(plan: Schedule, done: Container[Action]) -> None:
    """Raise Cycle unless all actions of the plan are done."""
    waiting = [(r, next((a for a in order if a not in done), None)) for r, order in enumerate(plan)]
    words = [
        f"rank {r} with {action} for {next(need for need in needs(action, plan) if need not in done)}"
        for r, action in waiting
        if action
    ]
    if words:
        raise Cycle(f"{plan.name}: these orders wait for each other, {', '.join(words)}")


def numbered(order: Iterable[Pass], m: int) -> Iterator[Action]:
    """The n-th F (and I) of a stage is that of micro-batch n; passes of micro-batches from m on are left out."""
    count = Counter()
    for kind, stage in order:
        if count[kind, stage] < m:
            yield Action(kind, stage, count[kind, stage])
        count[kind, stage] += 1
