"""How fast this machine is now, so that limits on seconds are right on a slow or a busy one.

A limit such as "20 seconds of computing" is meant for some machine. `pace()` runs a fixed computation and says how many
times as long it takes here as it took on the machine that the limits were made for (a core of a server of 2022,
idle); limits are multiplied by it. So a slow machine makes tests and graders slow, and not red. A faster machine
does not make limits shorter.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable

SECONDS = 0.020  # that calibration_seconds() took on the machine that limits were made for
MOST = 20.0  # a machine that seems slower still has other troubles
VARIABLE = "EVERY_RANK_PACE"  # set by whoever knows better, and for the processes that we start


def calibration_seconds(clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that a fixed piece of Python takes: integers, a list and a dictionary, as programs here use them."""
    start, table = clock(), {}
    for i in range(100_000):
        table[i % 1000] = table.get(i % 997, 0) + i * i % 7
    return clock() - start


@functools.cache
def pace() -> float:
    """How many times as long things take here as on the machine that limits were made for: 1 to 20.

    Measured once a process, by the clock on the wall, so that what else runs on the machine counts; the median of five.
    EVERY_RANK_PACE in the environment overrides it. Raises ValueError if that is no number from 1 to 20.
    """
    if given := os.environ.get(VARIABLE):
        return _checked(given)
    return min(MOST, max(1.0, _median(time.perf_counter) / SECONDS))


@functools.cache
def cpu_pace() -> float:
    """How many times as many CPU seconds things take here: 1 to pace().

    What else runs makes a machine slower by the clock, and hardly more costly: if the limit of an endless loop in CPU
    seconds followed the clock, a busy machine would take minutes to end it.
    """
    return min(pace(), max(1.0, _median(time.process_time) / SECONDS))


def _median(clock: Callable[[], float]) -> float:
    return sorted(calibration_seconds(clock) for _ in range(5))[2]


def _checked(given: str) -> float:
    try:
        number = float(given)
    except ValueError:
        number = 0.0
    if not 1 <= number <= MOST:
        raise ValueError(f"{VARIABLE} is a number from 1 to {MOST:g}, got {given!r}")
    return number
