"""One accelerator for several tasks: slices of time, or a part of it for each.

Idea      Time slices: processes take turns, a slice of q ticks each. A job of C needs ceil(C / q) slices, and before
          each of them every other process may have one, but no more than it has to do:
              R = C + sum over others j of min(ceil(C / q) q, ceil(R / T_j) C_j)
          Parts (MIG): each task has some of the multiprocessors, of the memory and of its bandwidth for itself. Nobody
          else's work matters; in exchange it is always slow, also when it is alone:
              R = S + (C - S) / share         S: what a part does not slow down, such as launches
          A part is a profile of the vendor, and only some sets of profiles have a place on the chip.
Before    10 and 60 ms of two processes on one device, whole jobs: the shorter one responds after up to 69 ms
After     slices of 2 ms: 20. A part with 60 of 132 multiprocessors for it: 22, whatever the other does
Price     Slices: a change of context at each, and everybody's long jobs become longer. Parts: what one does not use is
          lost to the others. Profiles are changed when nothing runs.
Exact     Slices: sufficient; reached if the others always have work. Parts: as exact as C, measured on that part.
Left out  What parts still share: the bus to the host and the power of the card. Compute instances within a part.
Source    NVIDIA, "MIG User Guide", Supported MIG Profiles (read 2026-11-23), for an H100 with 80 GB: memory, copy
          engines, number of instances. Multiprocessors and places: what `nvidia-smi mig -lgip` and `-lgipp` list there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from .tasks import PeriodicTask, checked


def time_sliced(tasks: Sequence[PeriodicTask], q: int, switch: int = 0) -> tuple[int | None, ...]:
    """R of each task if all share one device in slices of q ticks, of which a change of context takes `switch`.

    None above the period: the bound is for one job of a task at a time.
    """
    if q <= switch or switch < 0:
        raise ValueError(f"a slice is longer than the change of context, got {q} and {switch}")
    tasks = checked(tasks)
    turns = {task.name: -(-task.execution // (q - switch)) for task in tasks}
    needs = {task.name: task.execution + turns[task.name] * switch for task in tasks}
    return tuple(_turns(task, [t for t in tasks if t is not task], turns[task.name] * q, needs) for task in tasks)


def _turns(task: PeriodicTask, others: Sequence[PeriodicTask], most: int, needs: Mapping[str, int]) -> int | None:
    R = needs[task.name]
    while task.period - task.jitter >= R:
        longer = needs[task.name] + sum(
            min(most, -(-(R + other.jitter) // other.period) * needs[other.name]) for other in others
        )
        if longer == R:
            return R + task.jitter
        R = longer
    return None


def on_part(ticks: int, share: Fraction, fixed: int = 0) -> int:
    """Ticks of a job on a part of the device, if it takes `ticks` on the whole, `fixed` of them whatever the part."""
    if not 0 < share <= 1 or not 0 <= fixed <= ticks:
        raise ValueError(f"a share above 0 and at most 1, and at most {ticks} fixed ticks, got {share} and {fixed}")
    return fixed + -((fixed - ticks) // share)


class MigProfile(NamedTuple):
    """A kind of GPU instance: its multiprocessors, its eighths of memory and bandwidth, where it may begin."""

    name: str
    multiprocessors: int
    slices: int  # of memory, of 8
    copy_engines: int
    places: tuple[int, ...]  # the slice of memory at which it may begin

    @property
    def share(self) -> Fraction:
        """Its share of the multiprocessors of the whole."""
        return Fraction(self.multiprocessors, WHOLE)


WHOLE = 132  # multiprocessors of an H100 SXM
H100 = (
    MigProfile("1g.10gb", 16, 1, 1, (0, 1, 2, 3, 4, 5, 6)),
    MigProfile("1g.20gb", 26, 2, 1, (0, 2, 4, 6)),
    MigProfile("2g.20gb", 32, 2, 2, (0, 2, 4)),
    MigProfile("3g.40gb", 60, 4, 3, (0, 4)),
    MigProfile("4g.40gb", 64, 4, 4, (0,)),
    MigProfile("7g.80gb", WHOLE, 8, 8, (0,)),
)


def placement(profiles: Sequence[MigProfile]) -> tuple[int, ...] | None:
    """Where instances of these profiles begin, in their order; None if they have no place together."""
    order = sorted(range(len(profiles)), key=lambda i: -profiles[i].slices)
    found = _place([profiles[i] for i in order], frozenset())
    return None if found is None else tuple(found[order.index(i)] for i in range(len(profiles)))


def _place(profiles: Sequence[MigProfile], taken: frozenset[int]) -> tuple[int, ...] | None:
    if not profiles:
        return ()
    for start in profiles[0].places:
        slices = frozenset(range(start, start + profiles[0].slices))
        if not slices & taken and (rest := _place(profiles[1:], taken | slices)) is not None:
            return (start, *rest)
    return None


def instances(tasks: Sequence[PeriodicTask], fixed: Mapping[str, int] | None = None) -> list[MigProfile] | None:
    """A profile for each task in which it meets its deadline alone, placed together, with the fewest multiprocessors.

    tasks: execution times on the whole device. fixed: ticks of a job that a part does not slow down, by the task's
    name. None if there is no such set.
    """
    fixed, fitting = fixed or {}, []
    if len(checked(tasks)) > max(map(len, (one.places for one in H100))):
        return None
    for task in tasks:
        limit = min(task.deadline, task.period) - task.jitter
        least = fixed.get(task.name, 0)
        fitting.append([one for one in H100 if on_part(task.execution, one.share, least) <= limit])
    sets = sorted(product(*fitting), key=lambda profiles: sum(one.multiprocessors for one in profiles))
    return next((list(profiles) for profiles in sets if placement(profiles) is not None), None)
