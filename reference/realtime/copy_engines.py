"""Copy engines: jobs that copy in, compute and copy out, on engines that work side by side.

Idea      An accelerator has engines for copies beside the one that computes, and none stops what it has begun. So each
          is analysed as a bus is (`non_preemptive`). A job is a chain: the end of a copy releases the kernel. What it
          has waited so far is its jitter on the next engine (`chains.holistic`). While one frame is computed, the next
          one is copied, so the busiest engine limits how many frames there may be.
Before    two cameras, a frame each in 10 ms, with copies of 2 and 1 ms and a kernel of 3: 12 of 10 ms on one engine
After     4, 6 and 2 of 10 ms on three: R of 9 and 12 ms
Price     Memory for the frames under way: two of a camera here, as 12 is above 10.
Exact     Sufficient: it takes the worst of each engine, though they need not happen to one job. Reached by a job that
          is blocked on each engine in turn.
Left out  Bandwidth that engines share: a copy is to take as long as it does beside others.
Source    Tindell and Clark, "Holistic Schedulability Analysis for Distributed Hard Real-Time Systems" (1994); Davis et
          al. (2007) for each engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from .chains import holistic
from .simulate import periodic, triggered
from .tasks import PeriodicTask, checked


def stages(task: PeriodicTask) -> list[PeriodicTask]:
    """A task for each segment of the body, in order, named after task and engine; none is preemptive.

    Raises ValueError if a job suspends itself, holds a lock, or uses an engine twice.
    """
    kinds = [segment.on for segment in task.segments]
    if len(set(kinds)) < len(kinds) or None in kinds or any(segment.locks for segment in task.segments):
        raise ValueError(f"{task.name}: one segment an engine, without locks, got {task.segments}")
    return [
        replace(
            task, name=f"{task.name}.{segment.on}", execution=0, jitter=0 if place else task.jitter, offset=task.offset,
            body=(segment._replace(preemptive=False),),
        )
        for place, segment in enumerate(task.segments)
    ]  # fmt: skip


def chained(tasks: Sequence[PeriodicTask]) -> tuple[list[PeriodicTask], dict[str, str]]:
    """(the stages of all tasks, what the end of each releases)."""
    chains = [stages(task) for task in checked(tasks)]
    triggers = {one.name: other.name for chain in chains for one, other in pairwise(chain)}
    return [stage for chain in chains for stage in chain], triggers


def response_times(tasks: Sequence[PeriodicTask]) -> tuple[int | None, ...]:
    """R of each task from its arrival to the end of its last segment; `tasks` in order of priority on all engines.

    None for all if one grows above the largest deadline.
    """
    found = holistic(*chained(tasks))
    return tuple(found[stages(task)[-1].name] for task in tasks)


def simulated(tasks: Sequence[PeriodicTask], pattern: Any = periodic) -> tuple[list[PeriodicTask], dict[str, Any]]:
    """(stages, options) for `simulate`: the first stages are released by a pattern, the others by those before."""
    all_stages, triggers = chained(tasks)
    later = set(triggers.values())
    return all_stages, {
        "triggers": triggers,
        "releases": {stage.name: triggered if stage.name in later else pattern for stage in all_stages},
        "processors": {str(segment.on): 1 for stage in all_stages for segment in stage.segments},
    }


def on_one_engine(task: PeriodicTask) -> PeriodicTask:
    """The same job without engines of their own for copies: all in one piece, which nobody interrupts."""
    return replace(task, body=(), execution=task.execution, preemptive=False)
