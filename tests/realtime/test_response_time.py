"""Response-time analysis: published figures, and equal to the simulation at the critical instant."""

import csv
from random import Random

import pytest

from reference.realtime import PeriodicTask, densest, fixed_priority, hyperperiod, response_times, simulate, sporadic
from reference.realtime import response_time as public
from reference.realtime.response_time import instances, window
from reference.realtime.simulate import jittered, uniform

from .sets import BURNS_WELLINGS, HARMONIC, small_sets, table

# C, T, D, B, J, and R from the release, in microseconds: table 3 of Audsley, Burns, Richardson, Tindell and Wellings,
# "Applying New Scheduling Theory to Static Priority Pre-emptive Scheduling" (1993), as the tests of SchedCAT
# (tests/fp.py, commit 86211bc) and of the Rust crate response-time-analysis 0.3.2 (src/fixed_priority/tests.rs) have
# it; both read 2026-11-23
AVIONICS = """
51 1000 1000 0 0 51
3000 2000000 5000 300 0 3504
2000 25000 25000 600 0 5906
5000 25000 25000 900 0 11512
1000 40000 40000 1350 0 13064
3000 50000 50000 1350 0 16217
5000 50000 50000 750 0 20821
8000 59000 59000 750 0 36637
9000 80000 80000 1350 0 47798
2000 80000 80000 450 0 48949
5000 100000 100000 1050 0 99150
1000 200000 200000 450 1000 99550
3000 200000 200000 450 0 140641
1000 200000 200000 450 0 141692
1000 200000 200000 1350 0 143694
3000 1000000 1000000 0 0 145446
1000 1000000 1000000 0 0 146497
1000 1000000 1000000 0 0 147548
"""


def test_published_response_times():
    assert response_times(BURNS_WELLINGS) == (3, 6, 20)
    assert response_times(HARMONIC) == (1, 3, 16)
    assert response_times(BURNS_WELLINGS, {"c": 1}) == (3, 6, 21)
    assert not fixed_priority(BURNS_WELLINGS, {"c": 1})
    assert response_times(table("a 5 50 10\nb 4 20 20")) == (5, 9)  # deadline-monotonic
    assert response_times(table("a 20 100\nb 30 145\nc 68 150")) == (20, 50, 138)  # Stallings
    assert response_times(table("a 1 4\nb 1 5\nc 3 9\nd 3 18")) == (1, 2, 7, 18)  # SchedCAT's tests, as above


def test_the_steps_of_the_iteration():
    steps, w = [], 5
    while not steps or steps[-1] != w:
        steps.append(w)
        w = 5 + sum(-(-w // t.period) * t.execution for t in BURNS_WELLINGS[:2])
    assert steps == [5, 11, 14, 17, 20]
    assert window(5, 5, BURNS_WELLINGS[:2]) == 20


def test_the_avionics_set_with_blocking_and_jitter():
    rows = [list(map(int, row)) for row in csv.reader(AVIONICS.strip().splitlines(), delimiter=" ")]
    tasks = [PeriodicTask(f"t{i}", C, T, D, jitter=J) for i, (C, T, D, _, J, _) in enumerate(rows)]
    B = {f"t{i}": row[3] for i, row in enumerate(rows)}
    assert response_times(tasks, B) == tuple(R + J for *_, J, R in rows)


def test_arbitrary_deadlines_the_first_job_is_not_the_worst():
    """Lehoczky 1990, example 3: C, T of 26, 70 and 62, 100; the fifth job of the second is the worst, with 118.

    So say the documentation of RealTimeScheduling.jl and the tests of the crate response-time-analysis 0.3.2 (read
    2026-11-23); the responses of the other six jobs are computed here.
    """
    tasks = [PeriodicTask("a", 26, 70), PeriodicTask("b", 62, 100, 118)]
    assert list(instances(tasks[1], tasks[:1])) == [114, 102, 116, 104, 118, 106, 94]
    assert response_times(tasks) == (26, 118) and fixed_priority(tasks)
    run = simulate(tasks, until=700)
    assert [job.response for job in run.of("b")] == [114, 102, 116, 104, 118, 106, 94]


def test_equal_to_the_simulation_at_the_critical_instant():
    """With deadlines beyond the period, and jitter beyond it, too."""
    compared = beyond = 0
    for tasks in small_sets(450, share=0.35, deadlines=2.0, jitter=1.2):
        for place, (task, R) in enumerate(zip(tasks, response_times(tasks))):
            if R is None:
                continue
            run = simulate(tasks[: place + 1], releases=densest, until=3 * hyperperiod(tasks[: place + 1]) + 1)
            assert run.response(task.name) == R, (tasks, task)
            compared, beyond = compared + 1, beyond + (task.period < R)
    assert compared > 1000 and beyond > 100


@pytest.mark.parametrize("pattern", [sporadic, jittered])
def test_no_simulated_response_is_above_the_bound(pattern):
    for seed, tasks in enumerate(small_sets(250, share=0.35, jitter=0.6, offsets=True, seed=5)):
        run = simulate(tasks, releases=pattern, until=240, seed=seed, execution=uniform(0.5))
        for task, R in zip(tasks, response_times(tasks)):
            assert R is None or all(job.response <= R for job in run.of(task.name)), (tasks, task)


def test_at_full_load_the_responses_repeat():
    tasks = table("a 2 4\nb 3 6 20")
    assert response_times(tasks) == (2, 7) and response_times(tasks, {"b": 1}) == (2, 9)
    assert [job.response for job in simulate(tasks, until=48).of("b")] == [7, 6] * 4
    assert response_times(table("a 3 4\nb 3 6")) == (3, None)
    assert "no bound" in fixed_priority(table("a 3 4\nb 3 6")).because


def test_a_planted_mistake_is_seen():
    """One that people make: jobs of higher priority that are released at the very end counted, or one too few."""
    higher, task = table("a 1 4\nb 3 8")

    def wrong(w: int) -> int:
        while (longer := task.execution + (w // higher.period + 1) * higher.execution) != w:
            w = longer
        return w

    assert wrong(3) == 5 and public(task, [higher]) == simulate([higher, task]).response("b") == 4


def test_a_task_that_suspends_itself_is_refused():
    from reference.realtime import Segment

    with pytest.raises(ValueError, match="self_suspension"):
        fixed_priority([PeriodicTask("a", period=20, body=(Segment(2), Segment(2, on=None), Segment(2)))])


def test_random_large_sets_against_one_simulation():
    from reference.realtime.random_sets import task_set

    for seed in range(3):
        tasks = task_set(12, 0.85, Random(seed), periods=(100, 2000), grid=100)
        run = simulate(tasks, until=max(task.period for task in tasks) + 1)
        assert [run.of(task.name)[0].response for task in tasks] == [
            next(instances(task, tasks[:place])) for place, task in enumerate(tasks)
        ]
