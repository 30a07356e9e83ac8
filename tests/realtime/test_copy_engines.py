"""Copies beside computing: bounds above all runs, and reached by the job that is blocked on each engine."""

from dataclasses import replace
from random import Random

import pytest

from reference.realtime import PeriodicTask, Segment, non_preemptive, simulate, sporadic, uniform
from reference.realtime.chains import holistic
from reference.realtime.copy_engines import chained, on_one_engine, response_times, simulated, stages

ENGINES = "in", "gpu", "out"


def job(name: str, period: int, **ticks: int) -> PeriodicTask:
    body = tuple(Segment(ticks[kind], preemptive=False, on=kind) for kind in ENGINES if kind in ticks)
    return PeriodicTask(name, period=period, deadline=3 * period, body=body)


def random_set(rng: Random) -> list[PeriodicTask]:
    kinds = (("in", "gpu", "out"), ("in", "gpu"), ("gpu", "out"), ("gpu",))
    return [
        job(f"t{i}", rng.choice((10, 12, 15, 20, 30)), **{kind: rng.randint(1, 4) for kind in rng.choice(kinds)})
        for i in range(rng.randint(2, 4))
    ]


def responses(tasks, pattern=None, **how) -> list[int]:
    """The longest response of each task in a run, from the release of its first stage to the end of its last."""
    parts, options = simulated(tasks, *([pattern] if pattern else []))
    run = simulate(parts, **options, **how)
    ends = [(run.of(stages(task)[0].name), run.of(stages(task)[-1].name)) for task in tasks]
    return [max(last.finish - first.arrival for first, last in zip(*both, strict=True)) for both in ends]


def test_one_job_alone_and_one_engine():
    assert response_times([job("a", 20, **{"in": 2, "gpu": 3, "out": 1})]) == (6,)
    tasks = [job("a", 10, gpu=3), job("b", 20, gpu=4), job("c", 40, gpu=6)]
    assert response_times(tasks) == non_preemptive.response_times([on_one_engine(task) for task in tasks])


def test_reached_by_a_job_that_is_blocked_on_each_engine():
    """3 ticks behind a copy that began just before, 2 of its own, 4 behind a kernel, 3 of its own."""
    tasks = [job("urgent", 40, **{"in": 2, "gpu": 3}), job("copies", 40, **{"in": 4}), job("computes", 40, gpu=5)]
    late = [replace(task, offset=offset) for task, offset in zip(tasks, (1, 0, 5))]
    assert responses(late, until=40)[0] == 12 == response_times(tasks)[0]


def test_two_cameras_are_later_if_one_is_released_a_tick_after_the_other():
    """As the page says: 6 and 9 if released together; over all starts 8 and 9; bounds of 9 and 12."""
    left, right = [job(name, 10, **{"in": 2, "gpu": 3, "out": 1}) for name in ("left", "right")]
    seen = [responses([replace(left, offset=start), right], until=60) for start in range(10)]
    assert seen[0] == [6, 9] and seen[1][0] == 8
    assert [max(column) for column in zip(*seen)] == [8, 9]
    assert response_times([left, right]) == (9, 12)


def test_no_run_is_above_the_bounds():
    held = reached = beyond = 0
    for seed in range(250):
        tasks = random_set(Random(seed))
        bounds = response_times(tasks)
        if None in bounds:
            assert set(bounds) == {None}
            continue
        runs = [
            responses(tasks, sporadic, until=200, seed=i, execution=how)
            for i, how in enumerate((None, None, None, uniform(0.4)))
        ]
        for task, R, worst in zip(tasks, bounds, map(max, zip(*runs))):
            assert worst <= R, (tasks, task)
            held, reached, beyond = held + 1, reached + (worst == R), beyond + (worst > task.period)
    assert held > 400 and reached > 60 and beyond > 0  # with several frames under way, too


def test_copies_beside_computing_carry_more():
    """Two cameras: 12 of 10 ticks on one engine; 4, 6 and 2 of 10 on three."""
    tasks = [job(name, 10, **{"in": 2, "gpu": 3, "out": 1}) for name in ("left", "right")]
    whole = [on_one_engine(task) for task in tasks]
    assert non_preemptive.response_times(whole) == (11, None) and simulate(whole, until=300).missed()
    assert response_times(tasks) == (9, 12) and responses(tasks, until=300) == [6, 9]


def test_a_planted_mistake_is_seen():
    """That an engine stops what it has begun when something more urgent comes."""
    tasks = [job("urgent", 40, **{"in": 2, "gpu": 3}), job("copies", 40, **{"in": 4}), job("computes", 40, gpu=5)]
    parts, triggers = chained(tasks)
    stopped = [replace(part, body=(part.segments[0]._replace(preemptive=True),)) for part in parts]
    assert holistic(stopped, triggers)["urgent.gpu"] == 5
    late = [replace(task, offset=offset) for task, offset in zip(tasks, (1, 0, 5))]
    assert responses(late, until=40)[0] > 5


def test_bodies_that_it_is_not_for():
    for segments in (
        (Segment(1, False, "gpu"), Segment(1, False, "in"), Segment(1, False, "gpu")),
        (Segment(1, False, "gpu", ("map",)),),
        (Segment(1, False, "gpu"), Segment(2, False, None)),
    ):
        with pytest.raises(ValueError, match="one segment an engine"):
            response_times([PeriodicTask("a", period=20, body=segments)])
    with pytest.raises(ValueError, match="preemptive, or none is"):
        holistic([PeriodicTask("a", 1, 10), PeriodicTask("b", 1, 10, preemptive=False)], {})
