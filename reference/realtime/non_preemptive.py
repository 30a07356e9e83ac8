"""Non-preemptive jobs: what has begun runs to its end, as frames on a CAN bus do, and kernels on an accelerator.

Idea      A job of lower priority that began one tick earlier blocks all of it (B). Then jobs of higher priority go
          first, until the task begins at w; from there nothing stops it:
              w = B + q C + sum over higher j of (floor((w + J_j) / T_j) + 1) C_j         R = max over q of w - q T + C
              + J
          The higher jobs that its own execution holds up come after it, and before its next job. So the first job
          need not be the worst, even if all deadlines are within the period: q goes through the whole busy period.
Before    the analysis of 1994 looked at the first job only; commercial tools did, too
After     three frames of 1 ms, T of 2.5, 3.5 and 3.5: the third was said to take 3 ms, and its second job takes 3.5
Price     As `response_time`.
Exact     For sporadic tasks of whole ticks: the simulated response equals R if the longest lower job begins one tick
          before all others are released. The paper's time is continuous; `tick=0` gives its figures.
Left out  Errors and retransmissions on a bus, controllers that send in another order than that of priority.
Source    Davis, Burns, Bril and Lukkien, "Controller Area Network (CAN) Schedulability Analysis: Refuted, Revisited and
          Revised" (2007), which corrects Tindell, Burns and Wellings, "Calculating Controller Area Network (CAN)
          Message Response Times" (1995).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .tasks import PeriodicTask, Schedulability, checked, hyperperiod, on_time, overload


def blocking(below: Sequence[PeriodicTask], tick: int = 1) -> int:
    """B: what the longest job below has left when a job is released just after it began."""
    return max((task.execution - tick for task in below), default=0)


def response_time(
    task: PeriodicTask, above: Sequence[PeriodicTask], below: Sequence[PeriodicTask] = (), tick: int = 1
) -> int | None:
    """R of a task, from its arrival; None if it grows without bound."""
    return max(instances(task, above, below, tick), default=None)


def instances(
    task: PeriodicTask, above: Sequence[PeriodicTask], below: Sequence[PeriodicTask] = (), tick: int = 1
) -> Iterator[int]:
    """Yield the response times of the jobs of one busy period; none if U of the task and those above is beyond 1."""
    B, C, T, J = blocking(below, tick), task.execution, task.period, task.jitter
    w = B
    for q in range(_jobs([*above, task], B)):
        w = _start(max(w, B + q * C), B + q * C, above)
        yield w - q * T + C + J


def _start(w: int, own: int, above: Sequence[PeriodicTask]) -> int:
    """The first moment from w on at which nothing above is left to execute."""
    while True:
        later = own + sum(((w + task.jitter) // task.period + 1) * task.execution for task in above)
        if later <= w:
            return later
        w = later


def _jobs(tasks: Sequence[PeriodicTask], B: int) -> int:
    """How many jobs of the last task a busy period has; a hyperperiod at full load, and none above."""
    task, load = tasks[-1], overload(tasks)
    if load >= 0:
        return 0 if load else hyperperiod(tasks) // task.period
    length, longer = 0, B + sum(each.execution for each in tasks)
    while length != longer:
        length, longer = longer, B + sum(-(-(longer + each.jitter) // each.period) * each.execution for each in tasks)
    return -(-(length + task.jitter) // task.period)


def response_times(tasks: Sequence[PeriodicTask], tick: int = 1) -> tuple[int | None, ...]:
    """R of each task; `tasks` in order of priority, the highest first."""
    tasks = checked(tasks)
    return tuple(response_time(task, tasks[:i], tasks[i + 1 :], tick) for i, task in enumerate(tasks))


def on_levels(tasks: Sequence[PeriodicTask], levels: Sequence[int]) -> tuple[int | None, ...]:
    """R of each task where several share a level of priority, as kernels in streams do: the lowest level goes first.

    Sufficient: within a level the job that came first goes first, and here each other task of it counts as higher.
    """
    found = []
    for task, level in zip(checked(tasks), levels, strict=True):
        above = [other for other, its in zip(tasks, levels) if its <= level and other is not task]
        found.append(response_time(task, above, [other for other, its in zip(tasks, levels) if its > level]))
    return tuple(found)


def first_job_only(tasks: Sequence[PeriodicTask], tick: int = 1) -> tuple[int, ...]:
    """What the analysis of 1994 said: R of the first job after the critical instant. Wrong: too small for some sets."""
    tasks = checked(tasks)
    return tuple(next(instances(task, tasks[:i], tasks[i + 1 :], tick), 0) for i, task in enumerate(tasks))


def non_preemptive_priority(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Whether each R is within its deadline."""
    return on_time(checked(tasks), response_times(tasks), "non-preemptive response-time analysis")


def meets_deadline(task: PeriodicTask, above: Sequence[PeriodicTask], below: Sequence[PeriodicTask]) -> bool:
    """The test for `priorities.audsley`: here those below matter."""
    response = response_time(task, above, below)
    return response is not None and response <= task.deadline


def segment_blocking(tasks: Sequence[PeriodicTask]) -> dict[str, int]:
    """B of each task, by its name, if jobs can be stopped between segments: all of a lower segment but its first tick.

    With it `response_time.response_times` bounds tasks of several kernels; a longer kernel, cut in two, blocks half.
    """
    tasks, found, longest = checked(tasks), {}, 0
    for task in reversed(tasks):
        found[task.name] = max(0, longest - 1)
        longest = max(longest, *(segment.ticks for segment in task.segments if not segment.preemptive), 0)
    return found
