"""A job that saves, fails and restarts, event by event: what an interval costs, whatever the failures are like.

Idea      One process works and saves, another one interrupts it. An interruption loses what no checkpoint holds, then
          comes a restart, which can be interrupted, too. Nothing here knows a formula.
Before    formula: failures at a constant rate, checkpoints that are complete at once and always readable
After     simulated: any times between failures; checkpoints that are written in the background; some that turn out to
          be unreadable, so that the one before is taken; levels of which a failure destroys the lower ones
Exact     The seconds are those of one run with the given random numbers. Averages over n failures are off by some
          1 / sqrt(n).
Left out  Failures of the storage that take all checkpoints, and people who repair on weekdays only.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import simpy

from .interval import Account

# When failures come: endless seconds from one to the next, mtbf on average --------------------------------------------


def exponential(mtbf: float, rng: np.random.Generator) -> Iterator[float]:
    """Failures at a constant rate: how long ago the last one was tells nothing about the next."""
    while True:
        yield float(rng.exponential(mtbf))


def weibull(mtbf: float, shape: float, rng: np.random.Generator) -> Iterator[float]:
    """Failures whose rate depends on the time since the last one: it falls if shape < 1, grows if shape > 1."""
    scale = mtbf / math.gamma(1 + 1 / shape)
    while True:
        yield float(scale * rng.weibull(shape))


def bursts(mtbf: float, again: float, soon: float, rng: np.random.Generator) -> Iterator[float]:
    """Failures that bring others: with the chance `again` the next follows after `soon` seconds on average.

    Raises ValueError unless the mean can be mtbf: 0 <= again < 1 and again * soon < mtbf.
    """
    if not (0 <= again < 1 and again * soon < mtbf):
        raise ValueError(f"0 <= again < 1 and again * soon < mtbf, got {again=} {soon=} {mtbf=}")
    rest = (mtbf - again * soon) / (1 - again)
    while True:
        yield float(rng.exponential(soon if rng.random() < again else rest))


def nodes(mtbf: float, shape: float, count: int, rng: np.random.Generator, age: float = 0.0) -> Iterator[float]:
    """Failures of a job on `count` nodes, each with Weibull times and a mean of count * mtbf; a failed one is replaced.

    age: seconds that the nodes have run when the job begins.
    """
    each = weibull(count * mtbf, shape, rng)
    due = [next(each) for _ in range(count)]
    heapq.heapify(due)
    before = 0.0
    while True:
        at = heapq.heapreplace(due, due[0] + next(each))
        if at >= age:
            yield at - max(before, age)
        before = at


# The run --------------------------------------------------------------------------------------------------------------


class Storage(NamedTuple):
    """One level of checkpoints, in seconds: how long one blocks training, how long it is written in the background
    after that, and how long a restart from it takes. Every `every`-th checkpoint is made at this level.
    """

    cost: float
    restart: float = 0.0
    write: float = 0.0
    every: int = 1


class Failed(NamedTuple):
    """A failure: seconds since the one before, and the lowest level that survives it."""

    gap: float
    needs: int = 0


Interval = float | Callable[[float, int], float]  # seconds of work, or a function of seconds so far and failures so far


class SavedJob:
    """A job that needs `work` seconds of work, and what has become of it. `process` runs in a simpy environment."""

    def __init__(self, work: float, interval: Interval, levels: Sequence[Storage], unreadable: float, rng):
        self.work, self.levels, self.unreadable, self.rng = work, levels, unreadable, rng
        self.interval = interval if callable(interval) else lambda seconds, failures: interval
        self.kept = [(0.0, 0.0, len(levels) - 1)]  # of each checkpoint: complete from when on, work in it, level
        self.made = self.failures = self.needs = 0
        self.restarting = self.waiting = 0.0

    def process(self, env: simpy.Environment):
        """Work, save, and after an interruption restart from the newest checkpoint that is left."""
        down = False
        while True:
            began = env.now
            try:
                if down:
                    yield env.timeout(self.levels[self.kept[-1][2]].restart)
                    self.restarting += env.now - began
                    down = False
                _, done, _ = self.kept[-1]
                while done < self.work:
                    part = min(self.interval(env.now, self.failures), self.work - done)
                    yield env.timeout(part)
                    done += part
                    yield from self._save(env, done)
                yield from self._wait(env)
                return
            except simpy.Interrupt as failure:
                self.restarting += env.now - began if down else 0.0
                down = True
                self._fail(env.now, int(failure.cause or 0))

    def _save(self, env, done: float):
        """Wait for the write that is under way, if there is one; then save at the highest level whose turn it is."""
        yield from self._wait(env)
        self.made += 1
        level = max(index for index, one in enumerate(self.levels) if self.made % one.every == 0)
        yield env.timeout(self.levels[level].cost)
        self.kept.append((env.now + self.levels[level].write, done, level))

    def _wait(self, env):
        """Until the newest checkpoint is complete."""
        began = env.now
        if self.kept[-1][0] > began:
            yield env.timeout(self.kept[-1][0] - began)
        self.waiting += env.now - began

    def _fail(self, now: float, needs: int) -> None:
        """Forget the checkpoints that are incomplete, destroyed, or found to be unreadable. The beginning remains."""
        self.failures += 1
        if needs:
            self.kept = [one for index, one in enumerate(self.kept) if one[2] >= needs or not index]
        while len(self.kept) > 1 and (self.kept[-1][0] > now or self.rng.random() < self.unreadable):
            self.kept.pop()

    def account(self, seconds: float) -> Account:
        """Where these seconds went. Saving: checkpoints that no later failure took, and what was waited for writes."""
        held = self.kept[1:]
        saving = self.waiting + sum(self.levels[level].cost for _, _, level in held)
        lost = seconds - self.work - saving - self.restarting
        return Account(self.work, saving, lost, self.restarting, self.failures, len(held))


def simulate(
    work: float,
    interval: Interval,
    levels: Storage | Sequence[Storage],
    failures: Iterator[float] | Iterator[Failed],
    unreadable: float = 0.0,
    seed: int = 0,
) -> Account:
    """Run a job until its work is done and saved; where the seconds went.

    work, interval: seconds of work, of all and between two checkpoints; levels: how it saves, the lowest level first,
    which is made every time; failures: when the job fails, and for several levels what each failure leaves;
    unreadable: the chance that a checkpoint cannot be read when it is needed. Raises ValueError if the lowest level is
    not made every time, or a chance is not between 0 and 1.
    """
    levels = [levels] if isinstance(levels, Storage) else list(levels)
    if levels[0].every != 1 or not 0 <= unreadable < 1:
        raise ValueError(f"the lowest level has every=1, a chance is in [0, 1): {levels[0].every=} {unreadable=}")
    env = simpy.Environment()
    saving = SavedJob(work, interval, levels, unreadable, np.random.default_rng(seed))
    job = env.process(saving.process(env))

    def fail():
        for failure in failures:
            gap, needs = failure if isinstance(failure, Failed) else (failure, 0)
            yield env.timeout(gap)
            job.interrupt(needs)

    env.process(fail())
    env.run(until=job)
    return saving.account(env.now)
