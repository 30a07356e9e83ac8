"""Offloading: ask the cloud, or compute in the car, by deadline and energy, over a link that loses and delays.

    request |---- cloud's answer, perhaps ----|
            |........ wait ........|-- own ---| deadline
                                   the latest start of the car's own answer

Idea      Ask only if that saves energy on average: what the radio takes is less than what the car would spend times
          the chance that the answer comes before the latest start of the car's own computation. At that moment the car
          begins by itself, so its deadline does not depend on the link. Answers that fail several times in a row end
          the asking for a while: the cloud is gone, and each request would cost the radio's energy for nothing.
Before    the deadline minus the mean round trip is positive, "so offload": a lost answer is a missed deadline
After     a cloud that is gone costs a few requests, and no deadline
Sends     A request and an answer where it pays.
Price     The car's computer must be there, and free, whenever an answer may fail.
Exact     No deadline is missed while the car's own time is at most the deadline. The energy is an expectation.
Left out  Queues at the cloud; links that fail together; a pause that grows; reserving the car's computer.
Source    Kumar and Lu, Cloud Computing for Mobile Users, IEEE Computer 43 (2010), for the energy's side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FAILURES, PAUSE = 3, 20  # in a row that end the asking, and requests that are then not made


@dataclass(frozen=True)
class LossyLink:
    """Round trips with the cloud's computing: at least `least` ms, gamma-distributed jitter above it, and losses."""

    least: float = 40.0
    jitter: float = 10.0
    loss: float = 0.02

    def answers(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Milliseconds until each answer, shape (n,); infinite for those that are lost."""
        times = self.least + rng.gamma(2, self.jitter / 2, n)
        return np.where(rng.random(n) < self.loss, np.inf, times)

    def in_time(self, patience: float) -> float:
        """The chance that an answer comes within so many ms."""
        spare = max(0.0, patience - self.least) / (self.jitter / 2)
        return (1 - self.loss) * (1 - math.exp(-spare) * (1 + spare))


class OffloadJob(NamedTuple):
    """What the car needs for its own answer (ms, J), what a request costs it (J), and the deadline (ms)."""

    deadline: float = 100.0
    own_time: float = 30.0
    own_energy: float = 1.5
    radio_energy: float = 0.4

    @property
    def patience(self) -> float:
        """How long the car can wait before it must begin by itself. Raises ValueError if it never can."""
        if self.own_time > self.deadline:
            raise ValueError(f"the car itself takes {self.own_time} ms, and the deadline is {self.deadline}")
        return self.deadline - self.own_time


class OffloadRecord(NamedTuple):
    """Per request: whether it was made, whether its answer was used, and when there was an answer (ms); J in all."""

    asked: np.ndarray
    used: np.ndarray
    done: np.ndarray
    energy: float


def pays(job: OffloadJob, chance: float) -> bool:
    """Whether asking saves energy, if the answer comes in time with this chance."""
    return job.radio_energy < chance * job.own_energy


@dataclass
class OffloadDecision:
    """Decides job by job. chance: that an answer comes in time, as the car expects."""

    job: OffloadJob
    chance: float
    failures: int = 0
    quiet: int = 0

    def ask(self) -> bool:
        """Whether the next job asks the cloud. Call it once a job."""
        if self.quiet or not pays(self.job, self.chance):
            self.quiet = max(0, self.quiet - 1)
            return False
        return True

    def answered(self, used: bool) -> None:
        """Whether the answer came in time; several failures in a row end the asking for a while."""
        self.failures = 0 if used else self.failures + 1
        if self.failures == FAILURES:
            self.failures, self.quiet = 0, PAUSE


def offloaded(job: OffloadJob, answers: np.ndarray, chance: float) -> OffloadRecord:
    """Play jobs one after the other. answers: ms until the cloud's answer to each; chance: what the car expects."""
    n, decision = len(answers), OffloadDecision(job, chance)
    asked, used, done = np.zeros(n, bool), np.zeros(n, bool), np.full(n, job.own_time)
    for k, answer in enumerate(answers):
        if not decision.ask():
            continue
        asked[k], used[k] = True, answer <= job.patience
        done[k] = answer if used[k] else job.patience + job.own_time
        decision.answered(bool(used[k]))
    energy = asked.sum() * job.radio_energy + (~used).sum() * job.own_energy
    return OffloadRecord(asked, used, done, float(energy))
