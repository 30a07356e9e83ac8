"""Non-preemptive jobs: the published counterexample, and equal to the simulation in the worst case."""

from dataclasses import replace
from itertools import permutations
from random import Random

from reference.realtime import (
    FixedPriority,
    PeriodicTask,
    Segment,
    densest,
    hyperperiod,
    response_times,
    simulate,
    sporadic,
    uniform,
)  # fmt: skip
from reference.realtime import non_preemptive as analysis
from reference.realtime.priorities import audsley

from .sets import small_sets, table

# Three messages on a bus, after Davis et al. 2007, in ticks of 0.05 ms: C = 1, T = 2.5, 3.5, 3.5 ms, D = 2.5, 3.25,
# 3.25 ms. The figures are computed here.
CAN = [replace(task, preemptive=False) for task in table("A 20 50 50\nB 20 70 65\nC 20 70 65")]


def blocked(tasks):
    return [replace(task, preemptive=False) for task in tasks]


def test_three_messages_the_second_job_is_late():
    """The analysis of 1994 says 2, 3 and 3 ms: schedulable. The second message of C takes 3.5 ms, beyond its 3.25."""
    assert analysis.first_job_only(CAN, tick=0) == (40, 60, 60)
    assert analysis.response_times(CAN, tick=0) == (40, 60, 70)
    assert not analysis.non_preemptive_priority(CAN)
    run = simulate(CAN)
    assert [job.response for job in run.of("C")][:2] == [60, 70] and run.missed()[0] is run.of("C")[1]


def test_the_steps_of_buttazzos_example():
    """A set like that of Hard Real-Time Computing Systems, section 8.2; its figures are computed here.

    The third task starts at 7. The search for the start of its second job goes over 10, 16 and 19 to 22; the job ends
    at 25, after 11 ticks.
    """
    tasks = blocked(table("1 3 8\n2 3 9\n3 3 14\n4 2 80"))
    assert list(analysis.instances(tasks[2], tasks[:2], tasks[3:]))[:2] == [10, 11]
    assert analysis.response_time(tasks[2], tasks[:2], tasks[3:]) == 11


def test_the_figures_of_another_implementation():
    """The tests of the crate response-time-analysis 0.3.2, src/fixed_priority/tests.rs (read 2026-11-23): jobs that
    nobody interrupts, and jobs with such segments anywhere.
    """
    late = [replace(task, deadline=4 * task.period) for task in blocked(table("a 10 20\nb 20 50\nc 30 200"))]
    assert analysis.response_times(blocked(table("a 20 70\nb 20 80\nc 35 200"))) == (54, 74, 75)
    assert analysis.response_times(late) == (39, 79, None)

    def parts(name: str, period: int, *ticks: int) -> PeriodicTask:
        return PeriodicTask(name, period=period, body=tuple(Segment(part, preemptive=False) for part in ticks))

    tasks = [parts("a", 12, 2, 2), parts("b", 20, 3, 3), parts("c", 40, 4, 4)]
    assert response_times(tasks, analysis.segment_blocking(tasks)) == (7, 17, 32)
    tasks[2:] = [parts("c", 30, 3, 3, 2), parts("d", 40, 4, 4)]
    assert response_times(tasks, analysis.segment_blocking(tasks)) == (7, 17, 35, None)


def test_equal_to_the_simulation_in_the_worst_case():
    """The longest job below begins a tick before all others are released; jitter and arbitrary deadlines, too."""
    compared = later = 0
    for tasks in small_sets(150, share=0.35, deadlines=2.0, jitter=0.5):
        tasks = blocked(tasks)
        first = analysis.first_job_only(tasks)
        for place, (task, R) in enumerate(zip(tasks, analysis.response_times(tasks))):
            if R is None:
                continue
            below = max(tasks[place + 1 :], key=lambda other: other.execution, default=None)
            some = [replace(other, offset=1) for other in tasks[: place + 1]]
            if below is not None:
                some.append(replace(below, offset=0, jitter=0, period=10**6, deadline=10**6))
            run = simulate(some, releases=densest, until=4 * hyperperiod(tasks) + 2)
            assert run.response(task.name) == R, (tasks, task)
            compared, later = compared + 1, later + (first[place] < R)
    assert compared > 300 and later > 5  # sets on which the analysis of 1994 is too hopeful: the planted mistake


def test_no_simulated_response_is_above_the_bound():
    for seed, tasks in enumerate(small_sets(250, share=0.35, jitter=0.4, offsets=True, seed=3)):
        tasks = blocked(tasks)
        run = simulate(tasks, releases=sporadic, until=200, seed=seed, execution=uniform(0.4))
        for task, R in zip(tasks, analysis.response_times(tasks)):
            assert R is None or all(job.response <= R for job in run.of(task.name)), (tasks, task)


def test_audsley_finds_what_the_order_of_deadlines_misses():
    lost = blocked(table("a 2 4 4\nb 2 6 5\nc 1 10 9"))
    assert not analysis.non_preemptive_priority(lost)
    order = audsley(lost, analysis.meets_deadline)
    assert [task.name for task in order or []] == ["c", "a", "b"] and analysis.non_preemptive_priority(order)
    for tasks in small_sets(200, tasks=(2, 4), share=0.5, deadlines=0.99, seed=4):
        tasks = blocked(tasks)
        best = any(analysis.non_preemptive_priority(some) for some in permutations(tasks))
        assert (audsley(tasks, analysis.meets_deadline) is not None) == best, tasks


def test_kernels_block_by_their_longest_part():
    """A job of several kernels can be stopped between them: the bounds hold, and shorter parts block less."""

    def kernels(name: str, period: int, *ticks: int) -> PeriodicTask:
        return PeriodicTask(name, period=period, body=tuple(Segment(part, preemptive=False) for part in ticks))

    whole = [kernels("a", 20, 3), kernels("b", 40, 4, 2), kernels("c", 80, 12)]
    cut = [*whole[:2], kernels("c", 80, 4, 4, 4)]
    assert analysis.segment_blocking(whole) == {"a": 11, "b": 11, "c": 0}
    assert analysis.segment_blocking(cut) == {"a": 3, "b": 3, "c": 0}
    for tasks in (whole, cut):
        bounds = response_times(tasks, analysis.segment_blocking(tasks))
        for seed in range(60):
            run = simulate(tasks, releases=sporadic, until=400, seed=seed)
            assert all(job.response <= R for task, R in zip(tasks, bounds) for job in run.of(task.name))
    late = [replace(task, offset=1) for task in whole[:2]] + whole[2:]
    assert simulate(late).response("a") == 14  # 11 of the longest kernel, and its own 3


def test_levels_that_several_share():
    """Streams have few levels: within one, first come, first served. No run is above the bound."""
    reached = 0
    for seed, tasks in enumerate(small_sets(150, share=0.3, seed=7)):
        tasks = blocked(tasks)
        levels = [Random(seed + place).randint(0, 1) for place in range(len(tasks))]
        assert analysis.on_levels(tasks, range(len(tasks))) == analysis.response_times(tasks)
        runs = [simulate(tasks, FixedPriority(tasks, levels), releases=sporadic, until=200, seed=i) for i in range(3)]
        for task, R in zip(tasks, analysis.on_levels(tasks, levels)):
            worst = max(run.response(task.name) for run in runs)
            assert R is None or worst <= R, (tasks, levels, task)
            reached += worst == R
    assert reached > 30
