"""A pipeline schedule is data: for each rank, the order of its actions. Nothing here knows of tensors or messages.

Idea      A model of S stages, m micro-batches. Each micro-batch passes forward (F) through stages 0 ... S-1 and
          backward through S-1 ... 0. The backward pass is one action (B), or two: the gradient for the input (I),
          which the stage before waits for, and the gradient for the weights (W), which only the update (S) waits for.
          So what an action needs follows from its kind, stage and micro-batch (`needs`); where a stage lives follows
          from the order in which it occurs; and messages follow from both (messages.py). None of it is written by hand.
          Stages are numbered along the model. A rank may have several (its chunks: interleaving, the V shape), and a
          stage may live on two ranks, each with half of the micro-batches (DualPipe).
          "2F0" is the forward pass of stage 2 for micro-batch 0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

KINDS = {
    "F": "forward",
    "B": "backward",
    "I": "backward for the input",
    "W": "backward for the weights",
    "S": "optimizer step",
}
WEIGHTS = ("flush", "stash", "double")


class Action(NamedTuple):
    """What a rank does at one moment. kind: one of KINDS; an S updates `stage` with all gradients so far, the last of
    which is that of `micro`."""

    kind: str
    stage: int
    micro: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro}"


@dataclass(frozen=True)
class Schedule:
    """Who does what in which order.

    orders      of each rank its actions; the rank's number is the place in the list
    weights     "flush": all passes of a step use the weights that it began with. "stash": a micro-batch is carried
                forward with the latest weights and backward with the same ones, which have been kept (PipeDream).
                "double": the weights before the latest update when its batch began, the same on all stages (2BW)
    overlapped  per rank the places k in its order where actions k and k + 1, a forward and a backward pass of
                different micro-batches, run side by side (DualPipe)
    """

    name: str
    orders: tuple[tuple[Action, ...], ...]
    weights: str = "flush"
    overlapped: tuple[frozenset[int], ...] = ()

    @property
    def ranks(self) -> int:
        """p."""
        return len(self.orders)

    @cached_property
    def stages(self) -> int:
        """S: one more than the largest stage that occurs."""
        return 1 + max((action.stage for order in self.orders for action in order), default=-1)

    @cached_property
    def micro_batches(self) -> int:
        """m: one more than the largest micro-batch that occurs."""
        return 1 + max((action.micro for order in self.orders for action in order), default=-1)

    @cached_property
    def home(self) -> dict[tuple[int, int], int]:
        """(stage, micro-batch) -> the rank that carries it forward."""
        return {(a.stage, a.micro): r for r, order in enumerate(self.orders) for a in order if a.kind == "F"}

    @cached_property
    def chunks(self) -> list[list[int]]:
        """Of each rank the stages that it has, in the order of the model."""
        return [sorted({action.stage for action in order}) for order in self.orders]

    @cached_property
    def splits(self) -> frozenset[tuple[int, int]]:
        """The (stage, micro-batch) whose backward pass is in two parts."""
        return frozenset((a.stage, a.micro) for order in self.orders for a in order if a.kind == "I")

    @cached_property
    def summed(self) -> dict[Action, tuple[Action, ...]]:
        """The step of a stage that lives on several ranks -> what makes the gradients that it applies, on all of them:
        a copy of a stage is updated with the sum over its copies."""
        ranks: dict[int, set[int]] = {}
        for r, order in enumerate(self.orders):
            for action in order:
                ranks.setdefault(action.stage, set()).add(r)
        copied = [a for order in self.orders for a in order if len(ranks[a.stage]) > 1 and a.kind in "BWS"]
        made = [a for a in copied if a.kind != "S"]
        return {
            step: tuple(a for a in made if a.stage == step.stage and a.micro <= step.micro)
            for step in copied
            if step.kind == "S"
        }

    @cached_property
    def places(self) -> dict[Action, tuple[int, int]]:
        """Of each action its rank and its place in that rank's order, counted from 0."""
        return {action: (r, k) for r, order in enumerate(self.orders) for k, action in enumerate(order)}

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All actions in topological_order, worked out once for simulations at many costs."""
        return tuple(topological_order(self))

    def __iter__(self) -> Iterator[tuple[Action, ...]]:
        return iter(self.orders)

    def __getstate__(self) -> dict[str, object]:
        """What is sent to others: they work out the turns for themselves."""
        return {name: value for name, value in self.__dict__.items() if name != "turns"}


def needs(action: Action, schedule: Schedule) -> list[Action]:
    """What has to be done before `action`, on this rank or another; an S needs what stands before it in its order."""
    kind, s, i = action
    if kind == "F":
        return [Action("F", s - 1, i)] if s else []
    if kind == "W":
        return [Action("I", s, i)]
    if kind in "BI":
        after = [Action("I" if (s + 1, i) in schedule.splits else "B", s + 1, i)] if s + 1 < schedule.stages else []
        return [Action("F", s, i), *after]
    return []


def awaited(action: Action, schedule: Schedule) -> list[Action]:
    """What `action` comes after on any rank: what it needs, and for a step of a copied stage all gradients it applies.

    The latter travel in the copies' own exchange (runtime/shared.py), not in a message from action to action.
    """
    return [*needs(action, schedule), *schedule.summed.get(action, ())]


class Turn(NamedTuple):
    """One action at a place of a rank's order, or the two that run side by side from there, and what they need."""

    rank: int
    place: int
    actions: tuple[Action, ...]
    needs: list[Action]


def topological_order(schedule: Schedule) -> Iterator[Turn]:
    """All actions in an order in which they can be done: each after what it needs, each rank in its own order.

    A rank is followed until it needs what has not been done, and again when that has been done. Ends early, without an
    error, if ranks wait for each other in a circle (or for what nobody does).
    """
    done: set[Action] = set()
    waiting: dict[Action, list[int]] = {}  # what has not been done yet -> the ranks that need it
    place, todo = [0] * schedule.ranks, list(range(schedule.ranks))
    while todo:
        r = todo.pop()
        order, pairs = schedule.orders[r], schedule.overlapped[r] if schedule.overlapped else ()
        while (k := place[r]) < len(order):
            actions = order[k : k + 2] if k in pairs else order[k : k + 1]
            needed = needs(actions[0], schedule)
            for action in actions[1:]:
                needed += needs(action, schedule)
            after = [*needed, *schedule.summed.get(actions[0], ())]
            if not done.issuperset(after):
                missing = next(need for need in after if need not in done)
                waiting.setdefault(missing, []).append(r)
                break
            yield Turn(r, k, actions, needed)
            place[r] += len(actions)
            done.update(actions)
            for action in actions:
                todo += waiting.pop(action, ())


def parse(text: str) -> tuple[Action, ...]:
    """The order that is written "0F0 0F1 0B0 0B1". Raises ValueError for a word that is no action."""
    actions = []
    for word in text.split():
        found = re.fullmatch(r"(\d+)([FBIWS])(\d+)", word)
        if not found:
            raise ValueError(f"{word!r} is no action: write stage, one of {''.join(KINDS)}, micro-batch, such as 2F0")
        actions.append(Action(found[2], int(found[1]), int(found[3])))
    return tuple(actions)


def flushed(name: str, orders: Iterable[Iterable[Action]], **more) -> Schedule:
    """The schedule of these orders, each followed by one optimizer step of every stage that the rank has."""
    passes = [tuple(order) for order in orders]
    m = 1 + max((action.micro for order in passes for action in order), default=-1)
    steps = [tuple(Action("S", s, m - 1) for s in sorted({a.stage for a in order})) for order in passes]
    return Schedule(name, tuple(order + step for order, step in zip(passes, steps)), **more)


def repeat(schedule: Schedule, steps: int) -> Schedule:
    """The schedule `steps` times in a row, as in training: step t has the micro-batches t m ... t m + m - 1.

    A rank begins its next step when it is through with its last one; nothing else keeps the ranks in step.
    """
    m, lengths = schedule.micro_batches, [len(order) for order in schedule.orders]
    orders = tuple(
        tuple(Action(kind, s, i + t * m) for t in range(steps) for kind, s, i in order) for order in schedule.orders
    )
    overlapped = tuple(
        frozenset(k + t * n for t in range(steps) for k in pairs) for pairs, n in zip(schedule.overlapped, lengths)
    )
    return replace(schedule, orders=orders, overlapped=overlapped)


def check_sizes(p: int, m: int, v: int = 1) -> None:
    """Raise ValueError unless there are at least one rank, one micro-batch and one chunk, whole numbers all."""
    for name, value in (("p (ranks)", p), ("m (micro-batches)", m), ("v (chunks a rank)", v)):
        check_count(name, value)


def check_count(name: str, value: int) -> None:
    """Raise ValueError unless `value` is a whole number of at least 1: 2, and not 2.0."""
    try:
        enough = operator.index(value) >= 1
    except TypeError:
        enough = False
    if not enough:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
