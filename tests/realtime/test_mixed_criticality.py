"""Mixed criticality: bounds above all runs with overruns, and what is gained over high budgets everywhere."""

from random import Random

import pytest

from reference.realtime import PeriodicTask, fixed_priority, simulate, sporadic
from reference.realtime import mixed_criticality as analysis
from reference.realtime.mixed_criticality import CriticalTask, amc_max, amc_priorities, amc_rtb, simulated
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


def overruns(tasks, share: float, least: float = 0.0):
    """Up to low budgets for all, from a share of them on, but for some jobs of critical tasks."""
    low = {each.task.name: each.task.execution for each in tasks}

    def draw(task, segment, rng):
        most = low[task.name]
        return segment.ticks if rng.random() < share else rng.randint(max(1, round(least * most)), most)

    return draw


def test_by_hand():
    """The third: 2 + 2 + 2 = 6 in low mode; at the switch 6 + 3 of b, and one job of a that came by 6: 11."""
    tasks = [CriticalTask(PeriodicTask("a", 2, 6)), CriticalTask(PeriodicTask("b", 2, 12), 3),
             CriticalTask(PeriodicTask("c", 2, 24), 6)]  # fmt: skip
    told = amc_rtb(tasks)
    assert told and told.responses == (2, 5, 11)
    assert not fixed_priority([each.raised for each in [CriticalTask(PeriodicTask("a", 5, 6)), *tasks[1:]]])


@pytest.mark.parametrize("test", [amc_rtb, amc_max])
def test_no_run_with_overruns_is_above_the_bounds(test):
    proved = switched = beyond = 0
    for seed, tasks in enumerate(random_sets(200)):
        told = test(tasks)
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


def test_the_moment_of_the_switch_by_hand():
    """R_LO of d is 20. AMC-rtb: 11 + 4 of a + 4 of b + 4 jobs of c with 3 each: 31. At s = 18, the last moment to try,
    a and b have come 4 times, too, but the first job of c was due by then, and took 2: 30.
    """
    tasks = [CriticalTask(PeriodicTask("a", 1, 5)), CriticalTask(PeriodicTask("b", 1, 6)),
             CriticalTask(PeriodicTask("c", 2, 8), 3), CriticalTask(PeriodicTask("d", 6, 30), 11)]  # fmt: skip
    loose, tight = amc_rtb(tasks), amc_max(tasks)
    assert loose.schedulable is None and "at the switch (AMC-rtb)" in loose.because
    assert tight and tight.responses == (1, 2, 5, 30) and "(AMC-max)" in tight.because


def test_amc_max_is_never_above_amc_rtb():
    tighter = more = 0
    for tasks in random_sets(2500):
        loose, tight = amc_rtb(tasks), amc_max(tasks)
        assert tight or not loose, tasks
        more += bool(tight) and not loose
        if loose:
            assert all(one <= other for one, other in zip(tight.responses, loose.responses)), tasks
            tighter += tight.responses != loose.responses
    assert tighter > 5 and more > 1


def test_a_planted_mistake_at_the_switch_is_seen(monkeypatch):
    """With a switch at the release only, runs are above the bound; AMC-max looks at later ones, too."""

    def at_once(each, higher, low):
        others = [other.task for other in higher if not other.high]
        critical = [(o.task.period, o.task.deadline, o.task.execution, o.high) for o in higher if o.high]
        return analysis._switch_at(0, each, others, critical)

    above = 0
    for seed, tasks in enumerate(random_sets(100)):
        with monkeypatch.context() as planted:
            planted.setattr(analysis, "_switch_max", at_once)
            wrong = amc_max(tasks)
        for share in (0.1, 0.3) if wrong else ():
            plain, guards = simulated(tasks)
            run = simulate(plain, until=120, seed=seed, accounts=guards, execution=overruns(tasks, share, 1.0))
            above += any(run.response(t.task.name) > R for t, R in zip(tasks, wrong.responses) if t.high)
    assert above


def test_a_set_that_amc_max_cannot_prove_and_an_exact_analysis_can():
    """Pavic: "dominance of the exact analysis over AMC-max", Example08 of github.com/dumpram/mceval (2026-11-23)."""
    tasks = [CriticalTask(PeriodicTask("1", 1, 5), 2), CriticalTask(PeriodicTask("2", 1, 2)),
             CriticalTask(PeriodicTask("3", 1, 7), 2)]  # fmt: skip
    assert amc_priorities(tasks) is None and amc_priorities(tasks, tight=True) is None


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
        tight = amc_priorities(tasks, tight=True)
        assert tight is None or amc_max(tight)
        assert tight is not None or order is None
    assert found


def test_budgets_that_cannot_be():
    with pytest.raises(ValueError, match="high budget of 1 is not between 2 and 9"):
        CriticalTask(PeriodicTask("a", 2, 9), 1)
    with pytest.raises(ValueError, match="D <= T"):
        CriticalTask(PeriodicTask("a", 2, 9, 12))
