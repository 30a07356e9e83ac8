"""Locks: what holds a task up that needs what a task of lower priority has, and two protocols that bound it.

Idea      A low task holds a lock, a high one waits for it, and one in between, which needs no lock, preempts the low
          one: priority inversion, for as long as it likes. With priority inheritance the holder executes at the
          priority of the highest that waits. With a ceiling, each lock has the priority of the highest task that ever
          takes it, and a task may take a lock only above the ceilings of all locks that others hold; or, simpler, the
          holder has the ceiling's priority at once (immediate ceiling).
Before    without a protocol: blocked as long as tasks in between execute; two nested locks in opposite order: deadlock
After     inheritance: at most once for each lower task, and for each lock; deadlocks remain
          ceilings: at most one critical section in all, and no deadlock
Price     Inheritance needs no declaration of who takes what, ceilings do. Both are kernel work at each lock.
Left out  Locks between processors, where a ceiling does not prevent waiting.
Source    Sha, Rajkumar and Lehoczky, "Priority Inheritance Protocols: An Approach to Real-Time Synchronization" (1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .tasks import PeriodicTask, checked

PROTOCOLS = ("none", "inheritance", "ceiling", "immediate")


class LockTable:
    """Who holds which lock in a simulation, under one of PROTOCOLS; `tasks` in order of priority, the highest first."""

    def __init__(self, tasks: Sequence[PeriodicTask], protocol: str = "inheritance"):
        if protocol not in PROTOCOLS:
            raise ValueError(f"a protocol is one of {', '.join(PROTOCOLS)}, got {protocol!r}")
        self.protocol, self.ceilings = protocol, ceilings(tasks)
        self.holder: dict[str, Any] = {}
        self.blocked: list[Any] = []

    def keys(self, candidates: Iterable[Any]) -> dict[Any, tuple[int, ...]]:
        """The key that each candidate executes with: its own, one that is inherited, or a ceiling."""
        keys = {subjob: subjob.key for subjob in candidates}
        if self.protocol == "immediate":
            for subjob in keys:
                keys[subjob] = min([subjob.key, *((self.ceilings[name],) for name in subjob.held)])
        elif self.protocol != "none":
            for waiter in self.blocked:
                holder, seen = waiter.blocked, {waiter}
                while holder is not None and holder not in seen:
                    keys[holder] = min(keys.get(holder, holder.key), keys.get(waiter, waiter.key))
                    seen.add(holder)
                    holder = holder.blocked
        return keys

    def take(self, subjob: Any, key: tuple[int, ...]) -> bool:
        """Take the locks of the subjob's segment if it may; else it is blocked. Return whether it has them."""
        wanted = [name for name in subjob.segments[subjob.index].locks if name not in subjob.held]
        if not wanted:
            return True
        holder = next((self.holder[name] for name in wanted if name in self.holder), None)
        if self.protocol == "ceiling":
            others = [name for name, held_by in self.holder.items() if held_by is not subjob]
            highest = min(others, key=self.ceilings.__getitem__, default=None)
            if highest is not None and key >= (self.ceilings[highest],):
                holder = self.holder[highest]
        if holder is not None:
            subjob.blocked = holder
            self.blocked.append(subjob)
            return False
        self.holder |= dict.fromkeys(wanted, subjob)
        subjob.held = (*subjob.held, *wanted)
        return True

    def release(self, subjob: Any, keep: tuple[str, ...]) -> None:
        """Give back all locks but those to keep; whoever was blocked may try again."""
        for name in subjob.held:
            if name not in keep:
                del self.holder[name]
        subjob.held = tuple(name for name in subjob.held if name in keep)
        for waiter in self.blocked:
            waiter.blocked = None
        self.blocked.clear()


def ceilings(tasks: Sequence[PeriodicTask]) -> dict[str, int]:
    """The ceiling of each lock: the place of the highest task that takes it, 0 for the first."""
    found: dict[str, int] = {}
    for place, task in enumerate(checked(tasks)):
        for segment in task.segments:
            for name in segment.locks:
                found.setdefault(name, place)
    return found


def sections(task: PeriodicTask) -> dict[str, int]:
    """For each lock of a task, the ticks of its longest critical section: segments in a row that hold the lock."""
    found: dict[str, int] = {}
    for name in {name for segment in task.segments for name in segment.locks}:
        length = 0
        for segment in task.segments:
            length = length + segment.ticks if name in segment.locks else 0
            found[name] = max(found.get(name, 0), length)
    return found


def blocking(tasks: Sequence[PeriodicTask], protocol: str) -> Mapping[str, int]:
    """B of each task, by its name: for how long tasks of lower priority hold it up at most.

    inheritance: each lower task blocks it once at most, and each lock (Sha et al., theorems 5 and 6): the largest sum
    of sections of which no two have a task or a lock in common. ceiling, immediate: the longest section. Raises
    ValueError for "none", which has no bound. For one processor, sections that are not nested, and tasks that do not
    suspend.
    """
    tasks, ceiling = checked(tasks), ceilings(tasks)
    if protocol == "none":
        raise ValueError("without a protocol nothing bounds the blocking")
    found = {}
    for place, task in enumerate(tasks):
        each = [
            {name: ticks - 1 for name, ticks in sections(lower).items() if ceiling[name] <= place}
            for lower in tasks[place + 1 :]
        ]
        longest = max((ticks for row in each for ticks in row.values()), default=0)
        found[task.name] = _matching(each, frozenset()) if protocol == "inheritance" else longest
    return found


def _matching(each: Sequence[Mapping[str, int]], used: frozenset[str]) -> int:
    """The largest sum of ticks with at most one lock from each row, and no lock twice."""
    if not each:
        return 0
    first, rest = each[0], each[1:]
    taken = (ticks + _matching(rest, used | {name}) for name, ticks in first.items() if name not in used)
    return max(_matching(rest, used), *taken, 0)
