"""A robot's three tasks on few devices: up to which load a placement is proved to be in time, and where none exists.

Idea      Deadlines alone prove nothing. With an execution time and a period for each task every placement on devices
          can be analysed: on each device fixed priorities by deadline, and kernels that nobody interrupts as blocking.
          The load scales all execution times; the largest one that some placement bears is found by bisection.
Before    perception, planning and control with 50, 30 and 10 ms; "slices of 10 ms, control first": it meets deadlines?
After     alone, each may take its deadline; beside others a kernel of theirs comes off, and what is more urgent
Price     All placements are tried: devices to the power of tasks.
Exact     What is found is in time. Where a job alone takes longer than its deadline, no schedule exists on any number
          of such devices, unless the job itself is divided. Between the two the analysis says no.
Left out  Devices of different speed; a perception that is divided over two.
Source    Joseph and Pandya (1986) for the response times.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from .response_time import response_time
from .tasks import PeriodicTask

TICKS = 100  # of a millisecond
RESERVE = Fraction(4, 5)  # of a deadline that is planned with
LATENCIES = {"control": (10, 20), "planning": (30, 100), "perception": (50, 100)}  # deadline and period, ms


def robot(load: Fraction | float = 1) -> list[PeriodicTask]:
    """The three tasks, by deadline; at load 1 each executes for 80 % of its deadline.

    Raises ValueError, as tasks do, for a load at which a job alone takes longer than its deadline.
    """
    return [
        PeriodicTask(name, max(1, int(RESERVE * Fraction(load) * D * TICKS)), T * TICKS, D * TICKS)
        for name, (D, T) in LATENCIES.items()
    ]


def in_time(tasks: Sequence[PeriodicTask], kernel: int) -> bool:
    """Whether tasks on one device, the most urgent first, meet their deadlines beside kernels of so many ticks."""
    for place, task in enumerate(tasks):
        blocked = max((min(kernel, lower.execution) for lower in tasks[place + 1 :]), default=0)
        answer = response_time(task, tasks[:place], blocked)
        if answer is None or answer > task.deadline:
            return False
    return True


def placement(tasks: Sequence[PeriodicTask], devices: int, kernel: int) -> tuple[int, ...] | None:
    """A device for each task such that all are in time, or None if there is no such placement."""
    for places in itertools.product(range(devices), repeat=len(tasks)):
        on = [[task for task, place in zip(tasks, places) if place == device] for device in range(devices)]
        if all(in_time(each, kernel) for each in on):
            return places
    return None


def largest_load(devices: int, kernel_ms: float = 1.0) -> Fraction:
    """The largest load, in steps of a thousandth, at which some placement is in time; 0 if there is none."""
    low, high = 0, int(1000 / RESERVE) + 1  # beyond which a job alone is late
    while high - low > 1:
        middle = (low + high) // 2
        good = placement(robot(Fraction(middle, 1000)), devices, int(kernel_ms * TICKS)) is not None
        low, high = (middle, high) if good else (low, middle)
    return Fraction(low, 1000)
