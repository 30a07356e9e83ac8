"""Sharing a device: slices against runs, parts against the vendor's table."""

from fractions import Fraction
from itertools import combinations_with_replacement
from random import Random

import pytest

from reference.realtime import PeriodicTask, RoundRobin, simulate, sporadic, uniform
from reference.realtime.gpu_sharing import H100, instances, on_part, placement, time_sliced


def test_slices_by_hand():
    """10 and 60 in slices of 2: five turns of each until the shorter one is done."""
    tasks = [PeriodicTask("short", 10, 100), PeriodicTask("long", 60, 200)]
    assert time_sliced(tasks, 2) == (20, 70)
    run = simulate(tasks[::-1], RoundRobin(2), until=200)  # the long one goes first
    assert (run.response("short"), run.response("long")) == (20, 70)
    assert time_sliced(tasks, 2, switch=1) == (40, 160)  # half of each slice is lost
    assert time_sliced([tasks[0], PeriodicTask("long", 60, 100)], 2, switch=1) == (40, None)


def test_slices_are_reached_where_all_others_always_have_work():
    for others in (1, 2, 5):
        for q in (1, 3, 4):
            tasks = [PeriodicTask("own", 10, 1000)] + [PeriodicTask(f"o{i}", 600, 2000) for i in range(others)]
            run = simulate(tasks[::-1], RoundRobin(q), until=1)
            assert run.response("own") == time_sliced(tasks, q)[0] == 10 + others * -(-10 // q) * q


def test_no_run_is_above_the_bound_of_slices():
    held = reached = 0
    for seed in range(250):
        rng = Random(seed)
        q, switch = rng.randint(2, 5), rng.randint(0, 1)
        tasks = [
            PeriodicTask(f"t{i}", rng.randint(1, 12), rng.randint(20, 80), jitter=rng.choice((0, 0, 7)))
            for i in range(rng.randint(2, 4))
        ]
        runs = [
            simulate(tasks, RoundRobin(q), until=300, releases=sporadic, seed=i, switch=switch, execution=how)
            for i, how in enumerate((None, None, uniform(0.5)))
        ]
        for task, R in zip(tasks, time_sliced(tasks, q, switch)):
            if R is not None:
                worst = max(run.response(task.name) for run in runs)
                assert worst <= R, (tasks, q, switch, task)
                held, reached = held + 1, reached + (worst == R)
    assert held > 400 and reached > 40


def test_a_planted_mistake_is_seen():
    """That a task has a share of 1/n of the device at any time: its first slice comes after those of all others."""
    tasks = [PeriodicTask("own", 1, 100), *(PeriodicTask(f"o{i}", 50, 400) for i in range(3))]
    run = simulate(tasks[::-1], RoundRobin(5), until=100)
    assert 1 * len(tasks) < run.response("own") == time_sliced(tasks, 5)[0] == 16


def test_as_many_instances_as_nvidia_says():
    """The column "Number of Instances Available" of the H100 80GB table; copy engines and memory as there."""
    for profile, most in zip(H100, (7, 4, 3, 2, 1, 1)):
        assert placement([profile] * most) is not None and placement([profile] * (most + 1)) is None
    assert [one.copy_engines for one in H100] == [1, 1, 2, 3, 4, 8]
    assert [one.slices for one in H100] == [1, 2, 2, 4, 4, 8]


def test_places_do_not_overlap_and_are_found_if_there_are_any():
    one, _, two, three, four, _ = H100
    assert placement([three, four]) == (4, 0) and placement([three, three, one]) is None
    assert placement([two, two, two, one]) is not None and placement([]) == ()
    for number in (2, 3, 4):
        for some in combinations_with_replacement(H100, number):
            if (found := placement(some)) is not None:
                taken = [start + i for start, kind in zip(found, some) for i in range(kind.slices)]
                assert len(set(taken)) == len(taken) and max(taken) < 8
                assert all(start in kind.places for start, kind in zip(found, some))


def test_what_a_part_costs():
    assert on_part(10, Fraction(60, 132)) == 22 and on_part(10, Fraction(1)) == 10
    assert on_part(10, Fraction(1, 7), fixed=3) == 3 + 49
    assert on_part(2, H100[0].share) == 17 and H100[0].share < Fraction(1, 7)
    with pytest.raises(ValueError, match="got 0 and 0"):
        on_part(10, Fraction(0))


def test_instances_for_tasks():
    tasks = [PeriodicTask("control", 1, 10), PeriodicTask("plan", 8, 40), PeriodicTask("detect", 30, 100)]
    found = instances(tasks)
    assert [one.name for one in found] == ["1g.10gb", "2g.20gb", "3g.40gb"] and placement(found)
    for task, part in zip(tasks, found):
        smaller = H100[: H100.index(part)]
        assert on_part(task.execution, part.share) <= task.deadline
        assert all(on_part(task.execution, one.share) > task.deadline for one in smaller)
    assert instances([*tasks[:2], PeriodicTask("detect", 60, 100)]) is None  # it needs the whole device
    assert instances([PeriodicTask(f"t{i}", 1, 100) for i in range(8)]) is None  # eight instances have no place
    assert len(instances([PeriodicTask(f"t{i}", 1, 100) for i in range(7)])) == 7


def test_what_no_slice_can_be():
    with pytest.raises(ValueError, match="got 2 and 2"):
        time_sliced([PeriodicTask("a", 1, 5)], 2, switch=2)
