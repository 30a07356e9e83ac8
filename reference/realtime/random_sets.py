"""Random sets of tasks: utilisations drawn evenly, periods over orders of magnitude, times in whole ticks.

Idea      Tests are compared on random sets of one utilisation U. To draw n numbers and to scale them to the sum U is
          not even: such sets have their tasks too much alike, which flatters some tests. UUniFast draws the sum of the
          first n - 1 from its own distribution, then the next, and is even on all n-tuples with the sum U. For U > 1
          some come out above 1, which no task may be: discard those sets, or draw from the tuples without them at once.
          Where each task has a limit of its own, such as a low budget below its high one, count on a grid how many
          ways the others have left (`bounded_sum`).
Price     UUniFast: one power a task. `fixed_sum`: a root to find a task; discarding takes ever longer as n and U grow.
          `bounded_sum`: as many additions a task as the grid has steps.
Exact     Utilisations, until execution times are rounded to whole ticks: periods of thousands of ticks lose little.
          `bounded_sum` is even on the points of its grid.
Left out  Dirichlet-rescale (Griffin, Bate and Davis, 2020), which is for limits of each task, too: it is not even
          everywhere, as its authors found, and they advise against it (the package drs 2.0.1, read 2026-11-23).
Source    Bini and Buttazzo, "Measuring the Performance of Schedulability Tests" (2005); Davis and Burns (2009) for
          discarding; Emberson, Stafford and Davis, "Techniques for the Synthesis of Multiprocessor Tasksets" (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random

from .tasks import PeriodicTask


def uunifast(n: int, total: float, rng: Random) -> list[float]:
    """n utilisations with this sum, even on all such tuples. Above 1 some of them may be above 1."""
    if n < 1 or total <= 0:
        raise ValueError(f"at least 1 task and a utilisation above 0, got {n} tasks and {total}")
    found, left = [], total
    for others in range(n - 1, 0, -1):
        after = left * rng.random() ** (1 / others)
        found.append(left - after)
        left = after
    return [*found, left]


def uunifast_discard(n: int, total: float, rng: Random, tries: int = 10_000) -> list[float]:
    """The same, and none above 1: tuples with one are thrown away. Raises ValueError after so many tries."""
    if total > n:
        raise ValueError(f"{n} tasks of at most 1 each cannot sum to {total}")
    for _ in range(tries):
        found = uunifast(n, total, rng)
        if max(found) <= 1:
            return found
    raise ValueError(f"none of {tries} tuples of {n} with the sum {total} was without one above 1: take fixed_sum")


def fixed_sum(n: int, total: float, rng: Random) -> list[float]:
    """n utilisations in [0, 1] with this sum, even on all such tuples, without throwing any away.

    One after the other is drawn from its distribution given the sum of what is left: the others, k numbers that are
    even in [0, 1], have a sum with the density B_k, a spline (Irwin and Hall).
    """
    if not 0 < total <= n:
        raise ValueError(f"{n} tasks of at most 1 each cannot sum to {total}")
    if total > n / 2:  # where the distribution is thin, the left end has the digits
        return [1 - value for value in fixed_sum(n, n - total, rng)] if total < n else [1.0] * n
    from scipy.optimize import brentq

    found, left = [], total
    for others in range(n - 1, 0, -1):
        below, density, share = _sum_below(others, left), _sum_density(others + 1, left), rng.random()
        least, most = max(0.0, left - others), min(1.0, left)

        def beyond(value: float) -> float:
            """How much of the distribution lies below a value, less the share that was drawn."""
            return below - _sum_below(others, left - value) - share * density  # noqa: B023

        value = brentq(beyond, least, most) if beyond(least) < 0 < beyond(most) else least if share < 0.5 else most
        found.append(value)
        left -= value
    return [*found, left]


def bounded_sum(limits: Sequence[float], total: float, rng: Random, steps: int = 1000) -> list[float]:
    """Utilisations with this sum, each between 0 and its limit, even on all such points of a grid of 1 / `steps`.

    Limits are rounded down to the grid, the sum to the next point. Raises ValueError if the limits sum to less.
    """
    most, left = [int(limit * steps + 1e-9) for limit in limits], round(total * steps)
    if not most or min(most) < 0 or not 0 <= left <= sum(most):
        raise ValueError(f"limits of {tuple(limits)} on a grid of 1/{steps} cannot sum to {total}")
    ways = [[1.0] + [0.0] * left]  # of the last 0, 1, ... tasks: the probability of each sum, if all points are alike
    for limit in reversed(most[1:]):
        below = [0.0, *accumulate(ways[-1])]
        ways.append([(below[s + 1] - below[max(0, s - limit)]) / (limit + 1) for s in range(left + 1)])
    found = []
    for limit, others in zip(most, reversed(ways)):
        chances = [others[left - value] for value in range(min(limit, left) + 1)]
        value = rng.choices(range(len(chances)), chances)[0]
        found.append(value / steps)
        left -= value
    return found


def _sum_density(k: int, x: float) -> float:
    """The density at x of the sum of k numbers that are even in [0, 1]."""
    from scipy.interpolate import BSpline

    return float(BSpline.basis_element(range(k + 1), extrapolate=False)(x)) if 0 < x < k else 0.0


def _sum_below(k: int, x: float) -> float:
    """The probability that this sum is below x."""
    return sum(_sum_density(k + 1, x - step) for step in range(int(x) + 1)) if x < k else 1.0


def task_set(
    n: int,
    total: float,
    rng: Random,
    *,
    periods: tuple[int, int] = (1_000, 100_000),
    grid: int = 1,
    deadlines: tuple[float, float] = (1.0, 1.0),
    processors: int = 1,
) -> list[PeriodicTask]:
    """n tasks, the shortest period first, with a utilisation of `total`, up to the rounding of execution times.

    periods: their limits, log-uniform, each a multiple of `grid`. deadlines: limits of D / T, uniform; D is at least C.
    With more than one processor no task has a utilisation above 1.
    """
    low, high = periods
    if not 0 < grid <= low <= high:
        raise ValueError(f"periods from at least {grid} ticks on, the shorter first, got {periods}")
    shares = uunifast(n, total, rng) if processors == 1 else fixed_sum(n, total, rng)
    tasks = []
    for share in shares:
        T = max(1, round(low * (high / low) ** rng.random() / grid)) * grid
        C = max(1, round(share * T))
        tasks.append((T, C, max(C, round(rng.uniform(*deadlines) * T))))
    return [PeriodicTask(f"t{place}", C, T, D) for place, (T, C, D) in enumerate(sorted(tasks))]
