"""Dispatching: which of the ready jobs executes. Policies, as keys of which the smallest goes first.

          fixed priority   the task's place in an order
          EDF              the absolute deadline
          least laxity     the time that is left beside what is left to execute: it changes while a job waits
          round robin      a place in a queue; after a slice, the job goes to the queue's end

A policy is asked for each kind of processor. It does not know how many there are, and whether what executes may be
stopped: `simulate` knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import inf
from typing import Any

from .locks import LockTable
from .tasks import PeriodicTask, Segment

Key = tuple[int, ...]


class Subjob:
    """What is dispatched: a job, or a node of a job that is a graph. It executes its segments one after the other."""

    __slots__ = (
        "account", "after", "blocked", "held", "index", "job", "key", "kind", "left", "order", "place", "preemptive",
        "processor", "segments", "slice", "then",
    )  # fmt: skip

    def __init__(self, job: Any, segments: Sequence[Segment], order: int):
        self.job, self.segments, self.order = job, segments, order
        self.index = -1  # of the segment that executes
        self.left = 0  # ticks of it that are left
        self.kind: Any = None  # of processor; None while it suspends itself
        self.preemptive = True
        self.key: Key = ()
        self.processor: Any = None
        self.place: Any = None  # the processor that it executed on last
        self.held: tuple[str, ...] = ()  # locks
        self.blocked: Any = None  # the subjob that holds what this one needs
        self.account: Any = None  # a budget that what it executes is charged to
        self.slice = 0  # ticks left of its slice
        self.after = 0  # how many subjobs must be done before it may begin
        self.then: list[Subjob] = []  # those that wait for it

    def remaining(self) -> int:
        """Ticks that are left to execute, without suspensions."""
        later = self.segments[self.index + 1 :]
        return (self.left if self.kind is not None else 0) + sum(s.ticks for s in later if s.on is not None)


class Processor:
    """One processor: which subjob it executes, since when, and when that must be looked at again."""

    __slots__ = ("kind", "last", "name", "opened", "pinned", "since", "subjob", "until")

    def __init__(self, name: str, kind: str):
        self.name, self.kind = name, kind
        self.subjob: Subjob | None = None
        self.last: Subjob | None = None  # what it executed before
        self.since = self.opened = 0  # charged up to here; the slice began there
        self.until: float = inf
        self.pinned = False  # what it executes may not be stopped


def choose(candidates: Sequence[Subjob], room: int, locks: LockTable | None) -> list[Subjob]:
    """Return those that execute on `room` processors: the smallest keys, and of equal ones those that execute already.

    Where there are locks, a candidate takes those that its segment needs, or is blocked and lends its key to the
    holder.
    """
    if locks is None:
        return sorted(candidates, key=lambda s: (s.key, s.processor is None, s.order))[:room]
    while True:
        keys = locks.keys(candidates)
        free = [s for s in candidates if s.blocked is None]
        free.sort(key=lambda s: (keys[s], not s.held, s.processor is None, s.order))
        if all(locks.take(subjob, keys[subjob]) for subjob in free[:room]):
            return free[:room]


class SchedulingPolicy:
    """Keys of subjobs: the smallest goes first. `slice`: ticks after which a job makes way for its equals, or None."""

    slice: int | None = None
    varies = False  # True if keys change while jobs wait and execute

    def key(self, subjob: Subjob, now: int) -> Key:
        """The key of a subjob that becomes ready; asked again when its slice or its budget has ended."""
        raise NotImplementedError

    def change(self, now: int, waiting: Sequence[Subjob], executing: Sequence[Subjob]) -> int | None:
        """When one that waits goes before one that executes, if nothing happens until then; None if never."""
        return None


class FixedPriority(SchedulingPolicy):
    """The order of the tasks: each has a level, its place unless `levels` has one, and the lowest level goes first.

    With a `slice`, jobs of one level share by round robin.
    """

    def __init__(self, tasks: Sequence[Any], levels: Sequence[int] | None = None, slice: int | None = None):
        if levels is not None and len(levels) != len(tasks):
            raise ValueError(f"one level a task: {len(levels)} levels for {len(tasks)} tasks")
        if slice is not None and slice < 1:
            raise ValueError(f"a slice has at least 1 tick, got {slice}")
        self.level = dict(zip((task.name for task in tasks), levels or range(len(tasks))))
        self.slice, self._turn = slice, count()

    def key(self, subjob: Subjob, now: int) -> Key:
        level = self.level[subjob.job.task.name]
        return (level,) if self.slice is None else (level, next(self._turn))


class EarliestDeadlineFirst(SchedulingPolicy):
    """The job with the earliest absolute deadline; one that a server serves has the deadline of the server."""

    def key(self, subjob: Subjob, now: int) -> Key:
        return (subjob.account.deadline,) if hasattr(subjob.account, "deadline") else (subjob.job.deadline,)


class LeastLaxityFirst(SchedulingPolicy):
    """The job with the least slack, deadline - now - what is left to execute.

    Two jobs of equal laxity overtake each other again and again: `quantum` is the least time between two changes.
    """

    varies = True

    def __init__(self, quantum: int = 1):
        if quantum < 1:
            raise ValueError(f"a quantum has at least 1 tick, got {quantum}")
        self.quantum = quantum

    def key(self, subjob: Subjob, now: int) -> Key:
        return (subjob.job.deadline - now - subjob.remaining(),)

    def change(self, now: int, waiting: Sequence[Subjob], executing: Sequence[Subjob]) -> int | None:
        if not executing:
            return None
        least, most = min(subjob.key for subjob in waiting)[0], max(subjob.key for subjob in executing)[0]
        return now + max(self.quantum, least - most + 1)  # laxity falls by 1 a tick, but not of what executes


class RoundRobin(FixedPriority):
    """All jobs share in turn, a slice each."""

    def __init__(self, slice: int):
        super().__init__((), slice=slice)

    def key(self, subjob: Subjob, now: int) -> Key:
        return (next(self._turn),)


def policy_named(name: str, tasks: Sequence[PeriodicTask]) -> SchedulingPolicy:
    """ "fp": fixed priorities in the order of the tasks; "edf"; "llf". Raises ValueError for another name."""
    known = {"fp": lambda: FixedPriority(tasks), "edf": EarliestDeadlineFirst, "llf": LeastLaxityFirst}
    if name not in known:
        raise ValueError(f"a policy is one of {', '.join(known)}, or an object that has a key, got {name!r}")
    return known[name]()
