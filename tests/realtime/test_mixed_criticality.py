"""Mixed criticality: bounds above all runs with overruns, and what is gained over high budgets everywhere."""

from random import Random

import pytest

from reference.realtime import PeriodicTask, fixed_priority, simulate, sporadic
from reference.realtime.mixed_criticality import CriticalTask, amc_priorities, amc_rtb, simulated
from reference.realtime.tasks import utilisation

from .sets import PERIODS


def random_sets(number: int):
    rng = Random(1)
    for _ in range(number):
        tasks = []
        for place in range(rng.randint(2, 5)):
            T = rng.choice(PERIODS)
            low = rng.randint(1, max(1, T // 4))
            high = rng.randint(low, min(T, 3 * low)) if rng.random() < 0.5 else 0
            tasks.append(CriticalTask(PeriodicTask(f"t{place}", low, T), high))
        yield sorted(tasks, key=lambda each: each.task.period)


def overruns(tasks, share: float):
    """Low budgets for all, but for some jobs of critical tasks."""
    low = {each.task.name: each.task.execution for each in tasks}
    return lambda task, segment, rng: segment.ticks if rng.random() < share else rng.randint(1, low[task.name])


def test_by_hand():
    """The third: 2 + 2 + 2 = 6 in low mode; at the switch 6 + 3 of b, and one job of a that came by 6: 11."""
    tasks = [CriticalTask(PeriodicTask("a", 2, 6)), CriticalTask(PeriodicTask("b", 2, 12), 3),
             CriticalTask(PeriodicTask("c", 2, 24), 6)]  # fmt: skip
    told = amc_rtb(tasks)
    assert told and told.responses == (2, 5, 11)
    assert not fixed_priority([each.raised for each in [CriticalTask(PeriodicTask("a", 5, 6)), *tasks[1:]]])


def test_no_run_with_overruns_is_above_the_bounds():
    proved = switched = beyond = 0
    for seed, tasks in enumerate(random_sets(200)):
        told = amc_rtb(tasks)
        if not told:
            assert told.schedulable is None and None in told.responses
            continue
        proved += 1
        beyond += utilisation([each.raised for each in tasks]) > 1
        for share in (0.02, 0.3, 1.0):
            plain, guards = simulated(tasks)
            run = simulate(
                plain, releases=sporadic, until=240, seed=seed, accounts=guards, execution=overruns(tasks, share)
            )
            switched += any(guard.switched is not None for guard in guards.values())
            for each, R in zip(tasks, told.responses):
                done = [job for job in run.of(each.task.name) if not job.dropped]
                assert all(job.response is not None and job.response <= R for job in done), (tasks, each)
    assert proved > 60 and switched > 60 and beyond > 0  # sets that need more than all with high budgets everywhere


def test_dropping_is_what_saves_the_critical_ones():
    """The planted mistake: with nothing dropped, critical jobs are late in sets that are proved."""
    late = 0
    for seed, tasks in enumerate(random_sets(300)):
        if amc_rtb(tasks):
            plain, _ = simulated(tasks)
            run = simulate(plain, releases=sporadic, until=240, seed=seed)
            late += any(job.task.name == each.task.name for job in run.missed() for each in tasks if each.high)
    assert late


def test_an_order_is_found_where_the_rates_fail():
    found = 0
    for tasks in random_sets(300):
        order = amc_priorities(tasks)
        assert order is None or amc_rtb(order)
        assert order is not None or not amc_rtb(tasks)
        found += order is not None and not amc_rtb(tasks)
    assert found


def test_budgets_that_cannot_be():
    with pytest.raises(ValueError, match="high budget of 1 is not between 2 and 9"):
        CriticalTask(PeriodicTask("a", 2, 9), 1)
    with pytest.raises(ValueError, match="D <= T"):
        CriticalTask(PeriodicTask("a", 2, 9, 12))
