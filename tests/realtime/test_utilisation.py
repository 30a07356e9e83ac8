"""Utilisation bounds: published figures, and never optimistic against the exact analysis."""

import math
from random import Random

import pytest

from reference.realtime import PeriodicTask, fixed_priority, simulate
from reference.realtime.demand import processor_demand
from reference.realtime.priorities import rate_monotonic
from reference.realtime.random_sets import task_set
from reference.realtime.utilisation import edf_density, hyperbolic, liu_layland, liu_layland_bound

from .sets import BURNS_WELLINGS, HARMONIC, small_sets

PUBLISHED = (1.0, 0.828427, 0.779763, 0.756828, 0.743492, 0.734772, 0.728627, 0.724062, 0.720538, 0.717735)


def test_the_bounds_of_liu_and_layland():
    assert [round(liu_layland_bound(n), 6) for n in range(1, 11)] == list(PUBLISHED)
    assert liu_layland_bound(10**9) == pytest.approx(math.log(2), abs=1e-6)
    with pytest.raises(ValueError, match="got 0"):
        liu_layland_bound(0)


def test_a_bound_does_not_tell_above_it_and_overload_is_told():
    assert liu_layland(BURNS_WELLINGS).schedulable is None and fixed_priority(BURNS_WELLINGS)
    assert liu_layland(HARMONIC).schedulable is None and fixed_priority(HARMONIC)  # U = 1, harmonic periods
    over = [PeriodicTask("a", 3, 4), PeriodicTask("b", 3, 4)]
    for test in (liu_layland, hyperbolic, edf_density):
        assert test(over).schedulable is False and "1.5000" in test(over).because


def test_the_hyperbolic_bound_at_its_edge():
    edge = [PeriodicTask("a", 1, 2), PeriodicTask("b", 1, 3)]  # 3/2 * 4/3 = 2 exactly, U = 0.833 > 0.828
    assert hyperbolic(edge) and liu_layland(edge).schedulable is None
    assert hyperbolic([*edge[:1], PeriodicTask("b", 334, 1000)]).schedulable is None


def test_the_worst_set_of_two_tasks():
    """Liu and Layland's extreme: the fully utilised set with the least U, and one tick more is too much."""
    worst = [PeriodicTask("a", 4142, 10000), PeriodicTask("b", 5858, 14142)]
    assert float(sum(t.utilisation for t in worst)) == pytest.approx(liu_layland_bound(2), abs=1e-4)
    assert fixed_priority(worst)
    assert not fixed_priority([PeriodicTask("a", 4143, 10000), worst[1]])


def test_sufficient_bounds_are_never_optimistic():
    told = 0
    for tasks in small_sets(1500, share=0.4):
        tasks = rate_monotonic(tasks)
        exact, by_product = fixed_priority(tasks), hyperbolic(tasks)
        told += bool(by_product)
        assert bool(exact) or not by_product, tasks
        assert bool(by_product) or not liu_layland(tasks), tasks  # hyperbolic dominates
        assert (liu_layland(tasks).schedulable is not False) or not exact
    assert told > 200


def test_density_is_exact_for_edf_with_implicit_deadlines():
    for tasks in small_sets(300):
        assert bool(edf_density(tasks)) == bool(processor_demand(tasks)) == (not simulate(tasks, "edf").missed())
    for tasks in small_sets(300, deadlines=2.0, seed=1):
        assert processor_demand(tasks) or not edf_density(tasks), tasks


def test_density_at_its_edge():
    edge = [PeriodicTask("a", 1, 4, 2), PeriodicTask("b", 1, 4, 2)]
    assert edf_density(edge)
    assert edf_density([edge[0], PeriodicTask("b", 2, 4, 3)]).schedulable is None  # 1/2 + 2/3


def test_bounds_refuse_what_they_were_not_proved_for():
    with pytest.raises(ValueError, match="D = 5 and T = 10"):
        liu_layland([PeriodicTask("a", 1, 10, 5)])
    for task in (PeriodicTask("a", 1, 10, jitter=3), PeriodicTask("a", 1, 10, preemptive=False)):
        with pytest.raises(ValueError, match="without jitter"):
            hyperbolic([task])


def test_large_sets_are_quick_to_tell():
    assert hyperbolic(task_set(200, 0.65, Random(3)))
