"""Global scheduling: no test says yes to a set that some run is late with."""

from itertools import product

import pytest

from reference.realtime import PeriodicTask, simulate, sporadic
from reference.realtime import global_tests as analysis
from reference.realtime.tasks import utilisation

from .sets import small_sets, table


def late_for_some_offsets(tasks, policy: str, processors: int) -> bool:
    """All offsets of all tasks but the first: an exhaustive search, but for sporadic gaps."""
    from dataclasses import replace

    for offsets in product(*(range(task.period) for task in tasks[1:])):
        some = [tasks[0], *(replace(task, offset=offset) for task, offset in zip(tasks[1:], offsets))]
        if simulate(some, policy, processors=processors, until=max(offsets) + 48).missed():
            return True
    return False


def test_dhall_is_not_proved():
    tasks = table("a 2 10\nb 2 10\nc 10 11")
    assert analysis.gfb(tasks, 2).schedulable is None and analysis.bcl(tasks, 2).schedulable is None
    assert analysis.global_fixed_priority(tasks, 2).schedulable is None
    assert simulate(tasks, "edf", processors=2).missed()


def test_gfb_at_its_edge():
    """m - (m - 1) u of tasks with u each: four of 2/5 on two processors are exactly at the bound."""
    assert analysis.gfb([PeriodicTask(f"t{i}", 2, 5) for i in range(4)], 2)
    assert analysis.gfb([PeriodicTask(f"t{i}", 2, 5) for i in range(5)], 2).schedulable is None


def test_bcl_at_its_edge():
    """b is late if it waits for 4 of its 4 ticks: the others can take 3 and 4, and not the 8 of both processors."""
    assert analysis.bcl(table("a 3 7\nb 1 4\nc 4 7"), 2)
    assert analysis.bcl(table("a 4 7\nb 1 4\nc 4 7"), 2).schedulable is None


def test_one_processor_is_the_old_bound():
    for tasks in small_sets(200):
        assert bool(analysis.gfb(tasks, 1)) == (utilisation(tasks) <= 1)


@pytest.mark.parametrize("processors", [2, 3])
def test_no_test_is_optimistic_in_simulation(processors):
    proved = dict.fromkeys(("gfb", "bcl", "fp"), 0)
    for seed, tasks in enumerate(small_sets(250, tasks=(3, 7), share=0.7, seed=processors)):
        tests = {
            "gfb": ("edf", analysis.gfb),
            "bcl": ("edf", analysis.bcl),
            "fp": ("fp", analysis.global_fixed_priority),
        }
        for name, (policy, test) in tests.items():
            if told := test(tasks, processors):
                proved[name] += 1
                for pattern in ({}, {"releases": sporadic, "seed": seed, "until": 150}):
                    run = simulate(tasks, policy, processors=processors, **pattern)
                    assert not run.missed(), (name, tasks)
                    for task, R in zip(tasks, told.responses):
                        assert all(job.response <= R for job in run.of(task.name))
    assert min(proved.values()) > 15


def test_no_test_is_optimistic_in_a_search():
    searched = refused = 0
    for tasks in small_sets(400, tasks=(3, 3), share=0.99, deadlines=0.99, seed=9):
        if max(task.period for task in tasks) > 8:
            continue
        for policy, tests in (("edf", (analysis.gfb, analysis.bcl)), ("fp", (analysis.global_fixed_priority,))):
            late = late_for_some_offsets(tasks, policy, 2)
            searched, refused = searched + 1, refused + late
            assert not late or not any(test(tasks, 2) for test in tests), tasks
    assert searched > 20 and refused > 3


def test_a_common_release_proves_nothing():
    """A set that is in time when all are released together, and late for other offsets."""
    tasks = table("a 4 5\nb 2 3\nc 2 5")
    assert not simulate(tasks, processors=2).missed()
    assert late_for_some_offsets(tasks, "fp", 2) and not analysis.global_fixed_priority(tasks, 2)


def test_a_job_that_began_before_the_window_counts():
    """Without it, the fixed point of the last task would be within its deadline; some offsets make it late."""
    tasks = table("a 4 5 4\nb 3 6 3\nc 2 5 5\nd 1 5 5")
    assert not analysis.global_fixed_priority(tasks, 2) and late_for_some_offsets(tasks, "fp", 2)


def test_what_the_tests_are_not_for():
    for task in (PeriodicTask("a", 2, 4, 5), PeriodicTask("a", 2, 4, jitter=1)):
        with pytest.raises(ValueError, match="D <= T"):
            analysis.gfb([task], 2)
    with pytest.raises(ValueError, match="got 0"):
        analysis.bcl(table("a 2 4"), 0)
