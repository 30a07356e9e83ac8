"""Utilisation bounds: tests that need one number of each task, its share of the processor.

Idea      Tasks that together need little enough of a processor meet their deadlines, whatever their periods. Under
          rate-monotonic priorities n tasks are safe up to n (2^(1/n) - 1) of it: 1, 0.828, 0.780, ... down to ln 2. The
          hyperbolic bound asks for the product of all (U_i + 1) to be at most 2, and accepts more sets at the same
          price. Under earliest deadline first the bound is 1.
Before    U = 0.5 + 0.375 = 0.875 of two tasks, above Liu and Layland's 0.828: they cannot tell
After     1.5 * 1.375 = 2.0625, above 2: nor can the hyperbolic bound; 1/2 and 1/3 give 1.5 * 1.333 = 2: schedulable
Price     One division a task. A set above the bound may be schedulable all the same: `response_time` tells.
Exact     For earliest deadline first with D = T. The others are sufficient: above them the answer is None, "unknown".
Left out  Tasks that block each other, jitter and offsets: with them use `response_time` or `demand`.
Source    Liu and Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment" (1973), theorems
          5 and 7; Bini, Buttazzo and Buttazzo, "Rate Monotonic Analysis: The Hyperbolic Bound" (2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from .tasks import PeriodicTask, Schedulability, checked, utilisation


def liu_layland_bound(n: int) -> float:
    """n (2^(1/n) - 1): the utilisation up to which n tasks with D = T are safe under rate-monotonic priorities."""
    if n < 1:
        raise ValueError(f"the bound is for 1 task or more, got {n}")
    return n * (2 ** (1 / n) - 1)


def liu_layland(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Rate-monotonic, sufficient: U <= n (2^(1/n) - 1), compared exactly as (U/n + 1)^n <= 2."""
    tasks = _plain(tasks)
    n, total = len(tasks), utilisation(tasks)
    if total > 1:
        return _overload(total)
    told = f"U = {float(total):.4f}, and the bound for {n} tasks is {liu_layland_bound(n):.4f}"
    return Schedulability(True if (total / n + 1) ** n <= 2 else None, f"{told} (Liu and Layland)")


def hyperbolic(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Rate-monotonic, sufficient: the product of all U_i + 1 is at most 2. It accepts all that `liu_layland` does."""
    tasks = _plain(tasks)
    if (total := utilisation(tasks)) > 1:
        return _overload(total)
    product = prod((task.utilisation + 1 for task in tasks), start=Fraction(1))
    told = f"the product of all U + 1 is {float(product):.4f}, and the bound is 2 (hyperbolic)"
    return Schedulability(True if product <= 2 else None, told)


def edf_density(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Earliest deadline first: exact if no deadline is before its period's end, else sufficient, by the density."""
    tasks = _plain(tasks, implicit=False)
    total = utilisation(tasks)
    if total > 1:
        return _overload(total)
    density = sum((task.density for task in tasks), Fraction(0))
    told = f"the sum of C / min(D, T) is {float(density):.4f}, and the bound is 1 (density)"
    return Schedulability(True if density <= 1 else None, told)


def _plain(tasks: Sequence[PeriodicTask], implicit: bool = True) -> list[PeriodicTask]:
    """Refuse what the bounds were not proved for."""
    tasks = checked(tasks)
    for task in tasks:
        if implicit and task.deadline < task.period:
            raise ValueError(f"{task.name}: the bound is for D >= T, got D = {task.deadline} and T = {task.period}")
        if task.jitter or task.suspension or not task.preemptive:
            raise ValueError(f"{task.name}: the bound is for preemptive tasks without jitter and suspension")
    return tasks


def _overload(total: Fraction) -> Schedulability:
    return Schedulability(False, f"U = {float(total):.4f} is more than one processor has")
