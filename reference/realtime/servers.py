"""Servers: a budget for tasks of which one does not know how much they need, so that they cannot harm the others.

Idea      A constant bandwidth server promises Q ticks every T. Under earliest deadline first its job has the server's
          deadline. When the budget Q is used up, the budget is filled again and the deadline moves T away: the job goes
          on, but later than others. A job that comes to an idle server keeps what is left only if that is within Q / T
          until the deadline; else it gets Q and a deadline of now + T.
Before    one job that takes ten times as long as it should makes others late
After     hard tasks with U, and servers with Q / T each: all hard deadlines are met if the sum is at most 1
Price     A timer a server.
Exact     For the hard tasks. What is served may be late, and is if it needs more than it was promised.
Left out  Reclaiming what others leave; servers under fixed priorities (polling, deferrable, sporadic).
Source    Abeni and Buttazzo, "Integrating Multimedia Applications in Hard Real-Time Systems" (1998); the kernel's
          SCHED_DEADLINE follows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .tasks import PeriodicTask, Schedulability, checked, utilisation


class ConstantBandwidthServer:
    """Q ticks every T for the jobs of one task, one after the other; `accounts` of `simulate` under "edf"."""

    def __init__(self, ticks: int, period: int):
        if not 0 < ticks <= period:
            raise ValueError(f"a budget of at least 1 tick and at most the period, got {ticks} every {period}")
        self.ticks, self.period = ticks, period
        self.budget, self.deadline = 0, 0

    @property
    def bandwidth(self) -> Fraction:
        """Q / T."""
        return Fraction(self.ticks, self.period)

    def begin(self, now: int, idle: bool) -> None:
        """A job is to be served. After a job that waited, budget and deadline go on as they are."""
        if idle and self.budget >= (self.deadline - now) * self.bandwidth:
            self.budget, self.deadline = self.ticks, now + self.period

    def exhausted(self, engine: Any, subjob: Any) -> None:
        """The budget is used up: it is filled again, and the deadline moves."""
        self.budget, self.deadline = self.ticks, self.deadline + self.period


def hard_and_served(tasks: Sequence[PeriodicTask], servers: Mapping[str, ConstantBandwidthServer]) -> Schedulability:
    """Whether tasks that no server serves meet their deadlines (D = T), whatever the served ones do."""
    hard = [task for task in checked(tasks) if task.name not in servers]
    total = utilisation(hard) + sum(server.bandwidth for server in servers.values())
    told = f"U of the hard tasks and the bandwidth of the servers sum to {float(total):.4f}, and the bound is 1"
    if late := [task.name for task in hard if task.deadline < task.period]:
        raise ValueError(f"{late[0]}: the bound is for D >= T")
    return Schedulability(True if total <= 1 else None, told)
