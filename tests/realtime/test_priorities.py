"""Priorities: which order is the best, against all orders."""

from itertools import permutations

from reference.realtime import PeriodicTask, fixed_priority, response_times
from reference.realtime.priorities import audsley, deadline_monotonic, meets_deadline, rate_monotonic

from .sets import small_sets, table


def any_order(tasks) -> bool:
    return any(fixed_priority(order) for order in permutations(tasks))


def test_orders():
    tasks = table("a 5 50 10\nb 4 20 20")
    assert [task.name for task in rate_monotonic(tasks)] == ["b", "a"]
    assert [task.name for task in deadline_monotonic(tasks)] == ["a", "b"]


def test_deadline_monotonic_is_optimal_with_deadlines_within_the_period():
    found = 0
    for tasks in small_sets(250, tasks=(2, 4), share=0.5, deadlines=0.99):
        best = any_order(tasks)
        found += best and not fixed_priority(rate_monotonic(tasks))
        assert bool(fixed_priority(deadline_monotonic(tasks))) == best == (audsley(tasks) is not None), tasks
    assert found  # sets that the order of the rates fails


def test_only_audsley_is_optimal_with_deadlines_beyond_the_period():
    found = 0
    for tasks in small_sets(1500, tasks=(2, 3), share=0.7, deadlines=2.0, seed=1):
        order, best = audsley(tasks), any_order(tasks)
        assert (order is not None) == best, tasks
        assert order is None or fixed_priority(order)
        found += best and not fixed_priority(deadline_monotonic(tasks))
    assert found


def test_lehoczky_neither_order_is_best_beyond_the_period():
    """Lehoczky 1990, example 2: C, T, D of 52, 100, 110 and 52, 140, 154. The order of the deadlines fails.

    The responses are those of the tests of the crate response-time-analysis 0.3.2 (read 2026-11-23).
    """
    tasks = table("a 52 100 110\nb 52 140 154")
    assert response_times(tasks) == (52, 156) and response_times(tasks[::-1]) == (52, 108)
    assert not fixed_priority(tasks) and fixed_priority(tasks[::-1])
    assert [task.name for task in audsley(tasks) or []] == ["b", "a"]


def test_audsley_needs_few_tests():
    asked = []

    def test(task, above, below):
        asked.append(task.name)
        return meets_deadline(task, above, below)

    tasks = [PeriodicTask(f"t{i}", 1, 100 + i, 20 + i) for i in range(20)]
    assert audsley(tasks, test) is not None and len(asked) <= 20 * 21 // 2
    assert audsley(table("a 3 5\nb 3 6")) is None
