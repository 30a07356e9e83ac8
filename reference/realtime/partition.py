"""Partitions: each task on a processor of its own choice, for good. First fit decreasing, and exactly.

Idea      With each task bound to a processor, every processor is tested by itself. To choose is bin packing: first fit
          decreasing takes the largest task first, and the first processor that still has room. An integer programme
          tells whether any choice is right, and finds the one whose fullest processor is least full.
Before    shares of 0.4, 0.5, 0.5, 0.6 on two processors, the smallest first: the last finds no room
After     the largest first: 0.6 + 0.4 and 0.5 + 0.5. It loses 2 x 0.4 and 4 x 0.3, which the exact way packs
Price     First fit decreasing: n log n and one test a try. Exact: NP-hard; HiGHS packs tens of tasks in a second.
Exact     `assign` for earliest deadline first with D = T, where the test is a sum; processors may be of different
          kinds. Neither way helps a set that needs tasks to migrate: three tasks of 2/3 on two processors.
Left out  The exact partition under fixed priorities: give `first_fit_decreasing` a test.
Source    Dhall and Liu, "On a Real-Time Scheduling Problem" (1978); Baruah and Bini, "Partitioned Scheduling of
          Sporadic Task Systems: an ILP-Based Approach" (2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from .tasks import PeriodicTask, checked, utilisation

Fits = Callable[[list[PeriodicTask]], bool]


class Assignment(NamedTuple):
    """Of each task its processor, and the load of the fullest one. It fits if that is at most 1."""

    places: tuple[int, ...]
    load: Fraction

    def __bool__(self) -> bool:
        return self.load <= 1


def fits_edf(tasks: list[PeriodicTask]) -> bool:
    """The test of one processor under earliest deadline first with D = T: U <= 1."""
    return utilisation(tasks) <= 1


def first_fit_decreasing(
    tasks: Sequence[PeriodicTask], processors: int, fits: Fits = fits_edf
) -> list[list[PeriodicTask]] | None:
    """The tasks of each processor, or None if one found no room. fits: whether one processor meets all its deadlines.

    None proves nothing: another partition may fit.
    """
    if processors < 1:
        raise ValueError(f"at least 1 processor, got {processors}")
    parts: list[list[PeriodicTask]] = [[] for _ in range(processors)]
    for task in sorted(checked(tasks), key=lambda task: -task.utilisation):
        room = next((part for part in parts if fits([*part, task])), None)
        if room is None:
            return None
        room.append(task)
    return parts


def exact_partition(tasks: Sequence[PeriodicTask], processors: int) -> Assignment:
    """The partition whose fullest processor is least full, for equal processors and earliest deadline first."""
    return assign([[task.utilisation] * processors for task in checked(tasks)])


def assign(shares: Sequence[Sequence[Fraction | None]]) -> Assignment:
    """The same for processors of different kinds: shares[i][p] is what task i needs of processor p, None if it cannot.

    Raises ValueError if a task fits nowhere, or if the shares have no common denominator below a billion: choose
    periods on a grid.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, m = len(shares), len(shares[0])
    known = [share for row in shares for share in row if share is not None]
    unit = lcm(*(Fraction(share).denominator for share in known))
    if unit > 10**9:
        raise ValueError(f"the shares have the common denominator {unit}: choose periods on a grid")
    if lost := [i for i, row in enumerate(shares) if all(share is None for share in row)]:
        raise ValueError(f"task {lost[0]} fits no processor")
    upper = np.array([share is not None for row in shares for share in row], float)
    once, loads = np.zeros((n, n * m + 1)), np.zeros((m, n * m + 1))
    for i, row in enumerate(shares):
        once[i, i * m : (i + 1) * m] = 1
        for p, share in enumerate(row):
            loads[p, i * m + p] = 0 if share is None else int(share * unit)
    loads[:, -1] = -1  # the last variable is the load of the fullest, in units
    found = milp(
        np.eye(1, n * m + 1, n * m)[0],
        constraints=[LinearConstraint(once, 1, 1), LinearConstraint(loads, -np.inf, 0)],
        bounds=Bounds(0, np.append(upper, np.inf)),
        integrality=np.append(np.ones(n * m), 0),
    )
    places = tuple(int(np.argmax(found.x[i * m : (i + 1) * m])) for i in range(n))
    loads_of = [sum((Fraction(shares[i][p] or 0) for i in range(n) if places[i] == p), Fraction(0)) for p in range(m)]
    return Assignment(places, max(loads_of))
