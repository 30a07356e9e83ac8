"""Self-suspension: runs above both published shortcuts, and none above the bounds that hold."""

from dataclasses import replace
from random import Random

import pytest

from reference.realtime import PeriodicTask, Segment, simulate, sporadic, uniform
from reference.realtime.self_suspension import as_jitter, ignoring, oblivious, suspending, suspension_as_jitter


def task(name: str, period: int, *ticks: int) -> PeriodicTask:
    """Execution and suspension in turn: task("a", 20, 2, 5, 1) executes 2, is suspended 5, executes 1."""
    body = tuple(Segment(part, on=None if place % 2 else "cpu") for place, part in enumerate(ticks))
    return PeriodicTask(name, period=period, body=body)


def test_the_published_analysis_without_suspension_and_with():
    """SchedCAT's tests (as in test_response_time.py): C, T of 1 2, 5 20 and 1 20, S = 5 in the second."""
    assert oblivious([task("a", 2, 1), task("b", 20, 5), task("c", 20, 1)]) == (1, 10, 12)
    tasks = [task("a", 2, 1), task("b", 20, 2, 5, 3), task("c", 20, 1)]
    assert oblivious(tasks) == as_jitter(tasks) == (1, 20, None) and suspending(tasks).schedulable is None
    assert ignoring(tasks) == (1, 20, 12)  # the shortcut says that it is in time


def test_ignoring_the_suspension_of_others_is_wrong():
    tasks = [task("a", 4, 1), task("b", 6, 2, 1, 1), task("c", 10, 1)]
    assert ignoring(tasks) == (1, 6, 6)
    late = [replace(each, offset=offset) for each, offset in zip(tasks, (5, 9, 9))]
    assert simulate(late, until=240).response("c") == 7


def test_suspension_is_not_jitter_of_the_same_length():
    """A job of b that suspends itself whenever a would let it execute is done just before the next, which does not.

    The construction follows the review of 2019, which shows why R - C is needed.
    """
    b = PeriodicTask("b", period=200, body=(Segment(1), Segment(9, on=None)) * 5 + (Segment(45),))
    tasks = [PeriodicTask("a", 10, 20), b, PeriodicTask("c", 10, 1000, offset=100)]
    left = iter([9] * 5 + [0] * 100)  # the first job is suspended for as long as it may be, later ones not at all
    run = simulate(tasks, until=400, execution=lambda one, part, rng: part.ticks if part.on else next(left))
    assert suspension_as_jitter(tasks) == (10, 195, 120) and run.response("c") == 215
    assert as_jitter(tasks) == (10, 195, 220) and oblivious(tasks)[2] == 400


def test_no_run_is_above_the_bounds_that_hold():
    compared = tighter = 0
    for seed in range(400):
        rng, tasks = Random(seed), []
        for place in range(rng.randint(2, 4)):
            T = rng.choice((8, 10, 12, 15, 20, 24))
            parts = [rng.randint(1, 2), rng.randint(1, T // 3), rng.randint(1, 2)] if rng.random() < 0.6 else [2]
            tasks.append(task("abcd"[place], T, *parts))
        tasks.sort(key=lambda each: each.period)
        both = list(zip(oblivious(tasks), as_jitter(tasks)))
        tighter += any(one is None and other is not None for one, other in both)
        run = simulate(tasks, releases=sporadic, until=150, seed=seed, execution=uniform(0.4) if seed % 2 else None)
        for each, bounds in zip(tasks, both):
            for R in bounds:
                if R is not None:
                    compared += 1
                    assert all(job.response <= R for job in run.of(each.name)), (tasks, each)
    assert compared > 500 and tighter > 10


def test_what_the_bounds_are_not_for():
    with pytest.raises(ValueError, match="D <= T"):
        oblivious([PeriodicTask("a", 2, 5, 9)])
    assert suspending([task("a", 10, 2, 3, 1), task("b", 30, 2)])
