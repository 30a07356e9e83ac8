"""Failover: how long nobody answers when a unit falls silent and a standby takes its place.

    silent         release     release          takes over     answers
      |-- T at most --|--(k-1) T--|-- patience --|--- switch ---|

Idea      A unit answers a job every T, and each answer is its heartbeat. A standby takes over that has had none within
          `patience` after a release, k releases in a row. A hot standby has worked on the same jobs and answers at
          once; a warm one has the weights and begins now; a cold one is started first. That is `switch`.
Before    "redundant, so it never fails": from the failure to the first answer of the standby nobody answers
After     at most k T + patience + switch, which can be compared with the age that the consumer bears
Price     A short patience replaces units that live: with k = 1 each lost or late answer is a takeover.
Exact     The bound is approached by a unit that falls silent just after a release that it still answers.
Left out  Two that answer at a time: a consumer must be able to tell that it has had an answer. A common cause that
          takes both.
Source    Chen, Toueg and Aguilera, On the Quality of Service of Failure Detectors (2002), for detection time against
          mistakes.
"""

from __future__ import annotations

import numpy as np


def failover_bound(period: float, patience: float, switch: float = 0.0, misses: int = 1) -> float:
    """The longest time from a failure to the standby's first answer, in the unit of its arguments.

    Raises ValueError for what is no time, and for a count below 1.
    """
    if not (period > 0 and patience >= 0 and switch >= 0 and misses >= 1):
        raise ValueError(
            f"a period above 0, times of 0 or more, misses of 1 or more: {period=} {patience=} {switch=} {misses=}"
        )
    return misses * period + patience + switch


def failover_times(
    silent: np.ndarray, period: float, patience: float, switch: float = 0.0, misses: int = 1
) -> np.ndarray:
    """Play it: from each instant of `silent` to the standby's first answer. Jobs are released at 0, T, 2 T, ...

    A job that was released at the instant itself is not answered any more.
    """
    silent = np.asarray(silent, float)
    clock = np.ceil(silent / period) * period  # the first release that nobody answers
    for _ in range(misses - 1):
        clock = clock + period  # the standby waits for one more
    return clock + patience + switch - silent


def false_takeover(late: float, misses: int = 1) -> float:
    """The chance, at each release, that a unit that lives is replaced; `late`: that one answer is lost or late.

    For answers that are late independently of each other; a slow minute makes it larger.
    """
    if not 0 <= late <= 1:
        raise ValueError(f"a chance from 0 to 1, got {late}")
    return late**misses
