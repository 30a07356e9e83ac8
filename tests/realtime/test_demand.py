"""Processor demand: equal to the simulation of earliest deadline first, and QPA equal to looking everywhere."""

import pytest

from reference.realtime import PeriodicTask, densest, hyperperiod, simulate
from reference.realtime.demand import (
    busy_period,
    deadlines,
    demand,
    limit,
    non_preemptive_edf,
    processor_demand,
    qpa,
    qpa_steps,
)  # fmt: skip
from reference.realtime.simulate import sporadic
from reference.realtime.tasks import utilisation

from .sets import small_sets, table


def test_a_set_by_hand():
    tasks = table("a 3 6 5\nb 2 8 4\nc 3 15 10")
    assert [demand(tasks, t) for t in (3, 4, 5, 10, 11, 12)] == [0, 2, 5, 8, 11, 13]
    assert not processor_demand(tasks) and "interval of 12 ticks, 13 ticks" in processor_demand(tasks).because
    assert processor_demand(table("a 2 6 5\nb 2 8 4\nc 3 15 10"))


def test_busy_period_and_limits():
    tasks = table("a 2 6 5\nb 2 8 4\nc 3 15 10")
    assert busy_period(tasks) == 11
    assert limit(tasks) <= busy_period(tasks)
    assert list(deadlines(tasks, 12)) == [4, 5, 10, 11, 12]


def test_equal_to_the_simulation_from_a_common_release():
    """Without jitter, all deadlines: a miss in the simulation if and only if demand is too large."""
    yes = no = 0
    for tasks in small_sets(600, share=0.45, deadlines=1.8):
        end = 2 * hyperperiod(tasks) + 60
        late = utilisation(tasks) > 1 or simulate(tasks, "edf", until=end).missed()
        assert bool(processor_demand(tasks)) == (not late), tasks
        yes, no = yes + (not late), no + bool(late)
    assert min(yes, no) > 100


def test_with_jitter_equal_to_the_simulation_at_the_critical_instant():
    for tasks in small_sets(300, share=0.35, deadlines=1.8, jitter=0.5, seed=3):
        if utilisation(tasks) <= 1:
            run = simulate(tasks, "edf", releases=densest, until=3 * hyperperiod(tasks) + 60)
            assert bool(processor_demand(tasks)) == (not run.missed()), tasks


def test_qpa_says_the_same_and_looks_less():
    looked = everywhere = 0
    for tasks in small_sets(1200, tasks=(2, 7), share=0.3, deadlines=1.6, jitter=0.3, seed=2):
        assert bool(qpa(tasks)) == bool(processor_demand(tasks)), tasks
        if utilisation(tasks) <= 1 and qpa(tasks):
            looked, everywhere = looked + len(qpa_steps(tasks)), everywhere + len(list(deadlines(tasks, limit(tasks))))
    assert looked < 0.8 * everywhere


def test_non_preemptive_edf_is_never_optimistic_and_its_no_is_real():
    yes = no = 0
    for seed, tasks in enumerate(small_sets(400, share=0.4, deadlines=1.6, seed=4)):
        blocked = [PeriodicTask(t.name, t.execution, t.period, t.deadline, preemptive=False) for t in tasks]
        if utilisation(tasks) > 1:
            continue
        if non_preemptive_edf(blocked):
            yes += 1
            assert not simulate(blocked, "edf", releases=sporadic, until=200, seed=seed).missed(), blocked
            assert not simulate(blocked, "edf").missed()
        else:
            no += 1
            assert any(_missed_after(blocked, first) for first in [None, *blocked]), blocked
    assert min(yes, no) > 40


def _missed_after(tasks: list[PeriodicTask], first: PeriodicTask | None) -> bool:
    """Whether a deadline is missed if all are released together, or one of them a tick before the others."""
    later = [
        PeriodicTask(t.name, t.execution, t.period, t.deadline, offset=int(first is not None and t is not first),
                     preemptive=False)
        for t in tasks
    ]  # fmt: skip
    return bool(simulate(later, "edf", until=3 * hyperperiod(tasks) + 60).missed())


def test_overload_and_wrong_tasks():
    assert "1.5000" in processor_demand(table("a 3 4\nb 3 4")).because
    assert not qpa(table("a 3 4\nb 3 4")) and not non_preemptive_edf(table("a 3 4\nb 3 4"))
    with pytest.raises(ValueError, match="preemptive tasks"):
        qpa([PeriodicTask("a", 1, 4, preemptive=False)])


def test_a_planted_mistake_is_seen():
    """Forgetting the job that is released at the interval's beginning makes nearly every set schedulable."""
    tasks = table("a 3 6 5\nb 2 8 4\nc 3 15 10")
    assert simulate(tasks, "edf").missed() and demand(tasks, 12) - sum(t.execution for t in tasks) <= 12
