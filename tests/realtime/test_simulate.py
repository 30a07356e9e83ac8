"""The simulation: small cases by hand, and what holds in every run."""

from itertools import pairwise

import pytest

from reference.realtime import (
    FixedPriority,
    LeastLaxityFirst,
    PeriodicTask,
    RoundRobin,
    Segment,
    hyperperiod,
    response_times,
    simulate,
    sporadic,
    uniform,
)  # fmt: skip
from reference.realtime.simulate import triggered
from reference.realtime.tasks import utilisation

from .sets import small_sets, table

THREE = table("a 1 4\nb 2 6\nc 3 8")


def picture(run, processor="cpu") -> str:
    """What one processor did, a letter a tick."""
    marks = ["."] * run.end
    for piece in run.slices:
        if piece.processor == processor:
            marks[piece.start : piece.end] = piece.task * (piece.end - piece.start)
    return "".join(marks)


def test_fixed_priorities_miss_what_earliest_deadline_first_meets():
    """The set of Lipari's slides on EDF: U = 23/24, and under fixed priorities the third task is late."""
    fixed, earliest = simulate(THREE, "fp"), simulate(THREE, "edf")
    assert picture(fixed)[:12] == "abbcacbbaccc" and picture(earliest)[:12] == "abbcccabbacc"
    assert [repr(job) for job in fixed.missed()] == ["c[0] 0 > 3 > 10 (by 8)"]
    assert not earliest.missed() and earliest.idle("cpu") == 1


def test_pictures_by_hand():
    tasks = table("a 2 5\nb 4 10")
    assert picture(simulate(tasks)) == "aabbbaab.."
    blocked = [tasks[0], PeriodicTask("b", 4, 10, preemptive=False)]
    assert picture(simulate(blocked)) == "aabbbbaa.."
    assert picture(simulate(tasks, RoundRobin(1))) == "ababbbaa.."


def test_round_robin_shares_within_a_level():
    tasks = table("a 2 20\nb 4 20\nc 4 20")
    run = simulate(tasks, FixedPriority(tasks, levels=(0, 1, 1), slice=2))
    assert picture(run)[:10] == "aabbccbbcc"
    with pytest.raises(ValueError, match="one level a task"):
        FixedPriority(tasks, levels=(0, 1))


def test_least_laxity():
    tasks = table("a 3 10 4\nb 3 10 7")
    assert picture(simulate(tasks, "llf"))[:6] == "aaabbb"
    tie = table("a 4 20 8\nb 4 20 8")
    assert simulate(tie, "llf").preemptions > simulate(tie, LeastLaxityFirst(quantum=4)).preemptions
    for tasks in small_sets(150, tasks=(2, 4), share=0.5, deadlines=0.99):
        assert bool(simulate(tasks, "llf").missed()) == bool(simulate(tasks, "edf").missed()), tasks  # both optimal


def test_an_accelerator_a_copy_engine_and_a_suspension():
    copy, kernel = Segment(2, preemptive=False, on="bus"), Segment(5, preemptive=False, on="gpu")
    a = PeriodicTask("a", period=40, body=(Segment(1), copy, kernel, Segment(1)))
    b = PeriodicTask("b", period=40, body=(Segment(1), copy, kernel, Segment(3, on=None), Segment(1)))
    run = simulate([b, a], processors={"cpu": 1, "bus": 1, "gpu": 1}, until=40)
    assert picture(run, "cpu")[:15] == "ba.........b.a."
    assert picture(run, "bus")[:5] == ".bbaa" and picture(run, "gpu")[:13] == "...bbbbbaaaaa"
    assert (run.response("b"), run.response("a")) == (12, 14)
    with pytest.raises(ValueError, match="needs gpu"):
        simulate([a], processors={"cpu": 1, "bus": 1})


def test_a_kernel_is_not_stopped_and_the_next_is_the_most_urgent():
    def kernel(name, ticks, offset):
        return PeriodicTask(name, period=100, offset=offset, body=(Segment(ticks, preemptive=False, on="gpu"),))

    tasks = [kernel("a", 2, 3), kernel("b", 3, 2), kernel("c", 5, 1)]
    run = simulate(tasks, processors={"cpu": 1, "gpu": 1}, until=50)
    assert picture(run, "gpu")[:11] == ".cccccaabbb"


def test_partitioned_and_global():
    tasks = table("a 3 6\nb 3 6\nc 5 10")
    run = simulate(tasks, "edf", processors=2)
    assert not run.missed()
    fixed = [tasks[0].on("cpu0"), tasks[1].on("cpu1"), tasks[2].on("cpu1")]
    parts = simulate(fixed, "edf", processors={"cpu0": 1, "cpu1": 1})
    assert not parts.missed() and parts.migrations == 0
    assert {piece.processor for piece in parts.slices if piece.task == "c"} == {"cpu1"}


def test_dhall_two_processors_and_a_load_of_little_more_than_one():
    """Dhall and Liu 1978: two light tasks keep both processors busy until it is too late for the heavy one."""
    tasks = table("a 2 10\nb 2 10\nc 10 11")
    assert utilisation(tasks) < 1.32
    assert simulate(tasks, "edf", processors=2).missed() and simulate(tasks, processors=2).missed()
    assert not simulate([tasks[2], *tasks[:2]], processors=2).missed()


def test_what_a_switch_costs_is_within_two_a_job():
    for seed, tasks in enumerate(small_sets(150, share=0.25, seed=8)):
        heavier = [PeriodicTask(t.name, t.execution + 2, 2 * t.period) for t in tasks]
        plain = [PeriodicTask(t.name, t.execution, 2 * t.period) for t in tasks]
        run = simulate(plain, releases=sporadic, until=300, seed=seed, switch=1)
        for task, R in zip(tasks, response_times(heavier)):
            assert R is None or all(job.response <= R for job in run.of(task.name))
    assert picture(simulate(table("a 2 5\nb 4 20"), switch=1, until=10)) == "aaabbaaabbbb"


def test_completion_triggers_the_next_of_a_chain():
    tasks = table("camera 2 10\ndetector 3 10\nplanner 1 10")
    patterns = {"detector": triggered, "planner": triggered}
    run = simulate(tasks, releases=patterns, triggers={"camera": "detector", "detector": "planner"}, until=20)
    assert [(job.task.name, job.release, job.finish) for job in run.jobs[:3]] == [
        ("camera", 0, 2), ("detector", 2, 5), ("planner", 5, 6)]  # fmt: skip
    with pytest.raises(ValueError, match="no task lidar"):
        simulate(tasks, triggers={"camera": "lidar"})


def test_seeds_repeat_and_one_task_does_not_change_another():
    tasks = table("a 4 10\nb 5 20")

    def times(some, seed):
        run = simulate(some, releases=sporadic, execution=uniform(0.3), seed=seed, until=200)
        return [(job.release, job.finish) for job in run.of("a")]

    assert times(tasks, 1) == times(tasks, 1) != times(tasks, 2)
    assert times(tasks, 1) == times(tasks[:1], 1)
    with pytest.raises(ValueError, match="got 0"):
        uniform(0)


@pytest.mark.parametrize("policy", ["fp", "edf", "llf", RoundRobin(2)])
@pytest.mark.parametrize("processors", [1, 2, 3])
def test_what_holds_in_every_run(policy, processors):
    """Each job gets its C, no processor does two things, nothing executes before its release, none idles beside a
    waiter.
    """
    for seed, tasks in enumerate(small_sets(25, tasks=(2, 6), seed=processors)):
        run = simulate(tasks, policy, processors=processors, releases=sporadic, until=80, seed=seed)
        for job in run.jobs:
            pieces = sorted(p[3:5] for p in run.slices if (p.task, p.number) == (job.task.name, job.number))
            assert sum(end - start for start, end in pieces) == job.task.execution
            assert job.release <= job.start == pieces[0][0] and pieces[-1][1] == job.finish
            assert all(end <= start for (_, end), (start, _) in pairwise(pieces))  # one processor at a time
        for name in {piece.processor for piece in run.slices}:
            pieces = sorted(piece[3:5] for piece in run.slices if piece.processor == name)
            assert all(end <= start for (_, end), (start, _) in pairwise(pieces))
        for now in range(run.end):
            ready = {j.task.name for j in run.jobs if j.release <= now < j.finish}
            executing = sum(piece.start <= now < piece.end for piece in run.slices)
            assert executing == min(processors, len(ready)), (tasks, now)


def test_a_run_that_is_cut():
    tasks = table("a 3 10\nb 9 10")
    run = simulate(tasks, until=10, drain=False)
    assert run.end == 10 and run.of("b")[0].finish is None and run.idle("cpu") == 0
    assert run.missed() == []  # its deadline is at the end, and not before
    assert [job.task.name for job in simulate(tasks, until=11, drain=False).missed()] == ["b"]
    assert hyperperiod(tasks) == 10


def test_names_are_checked():
    with pytest.raises(ValueError, match="'rm'"):
        simulate(THREE, "rm")
    with pytest.raises(ValueError, match="at least 1 processor"):
        simulate(THREE, processors=0)
