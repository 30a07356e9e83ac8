"""Partitions: exact against all of them, and first fit never better."""

from fractions import Fraction
from itertools import product

import pytest

from reference.realtime import PeriodicTask, fixed_priority, simulate
from reference.realtime.partition import assign, exact_partition, first_fit_decreasing
from reference.realtime.priorities import rate_monotonic
from reference.realtime.tasks import utilisation

from .sets import small_sets, table


def best_load(shares, processors) -> Fraction:
    """By trying all."""
    return min(
        max(sum((s for s, place in zip(shares, places) if place == p), Fraction(0)) for p in range(processors))
        for places in product(range(processors), repeat=len(shares))
    )


def test_exact_is_the_best_of_all_and_first_fit_is_not_better():
    for tasks in small_sets(12, tasks=(4, 6), share=0.75):
        best = best_load([task.utilisation for task in tasks], 2)
        found = exact_partition(tasks, 2)
        assert found.load == best and bool(found) == (best <= 1)
        packed = first_fit_decreasing(tasks, 2)
        assert packed is None or found
    # a set that first fit decreasing loses: the three largest leave no room for the rest
    lost = [PeriodicTask(f"t{i}", C, 20) for i, C in enumerate((8, 8, 6, 6, 6, 6))]
    assert first_fit_decreasing(lost, 2) is None and exact_partition(lost, 2)


def test_the_largest_goes_first():
    """Shares of 0.4, 0.5, 0.5, 0.6: the smallest first leaves no room for the last."""
    tasks = [PeriodicTask(f"t{C}{i}", C, 10) for i, C in enumerate((4, 5, 5, 6))]
    packed = first_fit_decreasing(tasks, 2)
    assert packed is not None and [[task.execution for task in part] for part in packed] == [[6, 4], [5, 5]]


def test_what_was_packed_meets_its_deadlines():
    for tasks in small_sets(60, tasks=(4, 8), share=0.6, seed=1):
        for part in first_fit_decreasing(tasks, 3) or []:
            assert not part or (utilisation(part) <= 1 and not simulate(part, "edf").missed())


def test_first_fit_with_another_test():
    tasks = table("a 3 6\nb 3 6\nc 4 8\nd 4 8")
    assert [len(part) for part in first_fit_decreasing(tasks, 2)] == [2, 2]
    fixed = first_fit_decreasing(tasks, 2, lambda some: bool(fixed_priority(rate_monotonic(some))))
    assert fixed is not None and all(fixed_priority(rate_monotonic(part)) for part in fixed)
    with pytest.raises(ValueError, match="got 0"):
        first_fit_decreasing(tasks, 0)


def test_no_partition_but_a_schedule_that_migrates():
    tasks = [PeriodicTask(name, 2, 3) for name in "abc"]
    assert exact_partition(tasks, 2).load == Fraction(4, 3) and first_fit_decreasing(tasks, 2) is None
    assert sum(task.utilisation for task in tasks) == 2


def test_processors_of_different_kinds():
    """Perception, planning, control on two GPUs and a TPU: who is faster where, and where something cannot be."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    found = assign([[half, half, None], [third, third, Fraction(1, 4)], [Fraction(2, 3), None, Fraction(1, 10)]])
    assert found.places[2] == 2 and found.load == half
    with pytest.raises(ValueError, match="task 1 fits no"):
        assign([[half], [None]])
    with pytest.raises(ValueError, match="on a grid"):
        assign([[Fraction(1, 999_999_937)], [Fraction(1, 999_999_929)]])
