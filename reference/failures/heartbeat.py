"""Heartbeats: a process says at regular intervals that it is alive, and who hears nothing for too long suspects it.

Idea      Nobody can tell a dead process from one that is slow to answer, only bound how long to wait. Two heartbeats
          arrive an interval apart, plus or minus the difference of their delays. So the timeout is the interval and a
          margin for delays and pauses. A short one finds the dead soon and suspects the living often.
Before    timeout < interval        h...!h...!h...!h        an alarm in each interval, and nobody is dead
After     interval + margin         h....h....h....x......!     one alarm, and it is true
Sends     One small message an interval, from each process to whoever watches it.
Exact     With a delay of at most D, FixedTimeout(interval + D) never suspects a process that does not pause.
Left out  That all come to the same verdict: a suspicion is one watcher's opinion.
Source    Chen, Toueg and Aguilera, On the Quality of Service of Failure Detectors (2002), for what is counted here.
          AdaptiveTimeout estimates as TCP does: RFC 6298, on the gaps between heartbeats in place of round trips.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np


class FailureDetector(Protocol):
    """Hears heartbeats, and says until when it waits for the next one."""

    @property
    def deadline(self) -> float:
        """The instant from which on the process is suspected, unless a heartbeat arrives before."""

    def arrived(self, at: float) -> None:
        """A heartbeat has arrived at this instant, in seconds; instants do not go back."""


class FixedTimeout:
    """Suspects whoever is not heard of for so many seconds."""

    def __init__(self, timeout: float):
        self.timeout, self.last = timeout, 0.0

    @property
    def deadline(self) -> float:
        """The last heartbeat plus the timeout."""
        return self.last + self.timeout

    def arrived(self, at: float) -> None:
        """Take in a heartbeat."""
        self.last = at


class AdaptiveTimeout:
    """Waits for the mean gap between heartbeats and `margin` times their mean deviation, both smoothed.

    interval: the gap that is expected before one was seen; least: the smallest margin in seconds.
    """

    def __init__(self, interval: float, margin: float = 4.0, least: float = 0.0):
        self.margin, self.least, self.last = margin, least, 0.0
        self.gap, self.deviation = interval, interval / 2

    @property
    def deadline(self) -> float:
        """The last heartbeat, plus the mean gap, plus the margin."""
        return self.last + self.gap + max(self.margin * self.deviation, self.least)

    def arrived(self, at: float) -> None:
        """Take in a heartbeat: the deviation moves by a quarter, the mean by an eighth, as RFC 6298 says."""
        gap = at - self.last
        self.last = at
        self.deviation += (abs(gap - self.gap) - self.deviation) / 4
        self.gap += (gap - self.gap) / 8


# What a detector is worth ---------------------------------------------------------------------------------------------


def sent(interval: float, count: int, pauses: Iterable[tuple[float, float]] = ()) -> np.ndarray:
    """When heartbeats are sent, [count] in seconds: one an interval, those due in a pause (from, to) at its end."""
    times = interval * np.arange(1, count + 1)
    for first, after in pauses:
        times[(times >= first) & (times < after)] = after
    return times


def arrivals(times: np.ndarray, delays: np.ndarray | float) -> np.ndarray:
    """When heartbeats arrive that were sent at these times, in order: one that overtakes waits for the one before."""
    return np.maximum.accumulate(times + delays)


class Quality(NamedTuple):
    """What a detector did with heartbeats of a process that lived: false alarms, the seconds for which it was wrong;
    and seconds from a death until the alarm if the process dies right after a heartbeat: mean and longest.
    """

    alarms: int
    wrong: float
    detection: float
    longest: float


def judge(detector: FailureDetector, times: Sequence[float], arrived: Sequence[float], skip: int = 10) -> Quality:
    """Play heartbeats, sent at `times` and arrived at `arrived`, to a detector; the first `skip` only warm it up."""
    alarms, wrong, waits = 0, 0.0, []
    for index, (at, arrival) in enumerate(zip(times, arrived)):
        late = arrival - detector.deadline
        if index >= skip and late > 0:
            alarms, wrong = alarms + 1, wrong + late
        detector.arrived(float(arrival))
        if index >= skip:
            waits.append(detector.deadline - at)
    return Quality(alarms, float(wrong), float(np.mean(waits)), float(np.max(waits)))


def measured(interval: float, seconds: float, load: Callable[[], object] | None = None) -> np.ndarray:
    """Gaps between heartbeats of a thread of this process while its main thread works, [about seconds / interval].

    load: what the main thread calls again and again, until there is a gap at least; None: it sleeps. The heartbeat
    thread shares the interpreter with it, as that of a training process does.
    """
    beats: list[float] = []
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(interval):
            beats.append(time.perf_counter())

    thread = threading.Thread(target=beat, daemon=True)
    end = time.perf_counter() + seconds
    thread.start()
    while (left := end - time.perf_counter()) > 0 or len(beats) < 2:
        load() if load else time.sleep(max(left, interval))
    stop.set()
    thread.join()
    return np.diff(beats)
