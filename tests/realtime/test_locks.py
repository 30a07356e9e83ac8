"""Locks: inversion shown, both protocols, and blocking never above its bound."""

from itertools import pairwise
from random import Random

import pytest

from reference.realtime import PeriodicTask, Segment, response_times, simulate, sporadic
from reference.realtime.locks import LockTable, blocking, ceilings, sections


def task(name: str, offset: int, *parts: tuple[int, str], period: int = 1000) -> PeriodicTask:
    """A task from parts such as (3, "A B"): 3 ticks with the locks A and B."""
    body = tuple(Segment(ticks, locks=tuple(locks.split())) for ticks, locks in parts)
    return PeriodicTask(name, period=period, offset=offset, body=body)


INVERSION = [
    task("high", 2, (1, ""), (2, "A"), (1, "")),
    task("middle", 4, (50, "")),
    task("low", 0, (1, ""), (4, "A")),
]


def test_priority_inversion_and_its_end():
    """The high task needs 4 ticks and the section that blocks it has 4; without a protocol it waits for the middle
    one.
    """
    found = {p: simulate(INVERSION, until=100, locks=LockTable(INVERSION, p)).response("high") for p in
             ("none", "inheritance", "ceiling", "immediate")}  # fmt: skip
    assert found["none"] >= 50
    assert found["inheritance"] == found["ceiling"] == found["immediate"] <= 4 + 4


def test_buttazzo_figure_7_14_ceiling_blocking():
    """Three tasks, locks A, B, C; the low one holds C and then B, the high one is blocked at A though A is free.

    Buttazzo, Hard Real-Time Computing Systems, section 7.7: the text gives the order of the events.
    """
    tasks = [
        task("1", 6, (1, ""), (2, "A"), (1, ""), (2, "B"), (1, "")),
        task("2", 3, (2, ""), (2, "C"), (1, "")),
        task("3", 0, (1, ""), (2, "C"), (4, "C B"), (1, "C"), (1, "")),
    ]
    assert ceilings(tasks) == {"A": 0, "B": 0, "C": 1}
    run = simulate(tasks, until=100, locks=LockTable(tasks, "ceiling"))
    assert [job.task.name for job in sorted(run.jobs, key=lambda job: job.finish)] == ["1", "2", "3"]
    first = next(piece for piece in run.slices if piece.task == "1" and "A" in piece.locks)
    unlocked = max(piece.end for piece in run.slices if "B" in piece.locks and piece.task == "3")
    assert first.start == unlocked  # not a tick before B is free, although nobody held A
    free = simulate(tasks, until=100, locks=LockTable(tasks, "inheritance"))
    assert next(piece for piece in free.slices if piece.task == "1" and "A" in piece.locks).start < first.start


def test_two_locks_in_opposite_order_deadlock_without_a_ceiling():
    tasks = [task("high", 2, (1, "A"), (2, "A B")), task("low", 0, (2, "B"), (3, "B A"))]
    tasks[0] = task("high", 1, (2, "A"), (2, "A B"))
    for protocol in ("none", "inheritance"):
        assert simulate(tasks, until=100, locks=LockTable(tasks, protocol)).deadlocked == ("high", "low")
    for protocol in ("ceiling", "immediate"):
        run = simulate(tasks, until=100, locks=LockTable(tasks, protocol))
        assert not run.deadlocked and all(job.finish for job in run.jobs)


def test_bounds_by_hand():
    """Table 7.2 of Buttazzo, Hard Real-Time Computing Systems, and his blocking times under the ceiling protocol."""
    tasks = [
        task("1", 0, (1, "A"), (2, "B")),
        task("2", 0, (9, "B"), (3, "C")),
        task("3", 0, (8, "A"), (7, "B")),
        task("4", 0, (6, "A"), (5, "B"), (4, "C")),
    ]
    assert sections(tasks[3]) == {"A": 6, "B": 5, "C": 4}
    assert blocking(tasks, "inheritance") == {"1": 8 + 7, "2": 7 + 4, "3": 5, "4": 0}
    assert blocking(tasks, "ceiling") == {"1": 8, "2": 7, "3": 5, "4": 0}
    with pytest.raises(ValueError, match="nothing bounds"):
        blocking(tasks, "none")
    with pytest.raises(ValueError, match="'magic'"):
        LockTable(tasks, "magic")


def random_sets(number: int):
    """Sets of tasks with sections that are not nested, of short periods."""
    rng = Random(7)
    for _ in range(number):
        tasks = []
        for place in range(rng.randint(2, 5)):
            parts = [(rng.randint(1, 3), rng.choice(("", "A", "B", "C"))) for _ in range(rng.randint(1, 4))]
            longest = sum(ticks for ticks, _ in parts)
            tasks.append(task(f"t{place}", rng.randint(0, 9), *parts, period=longest * rng.randint(2, 9)))
        yield tasks


@pytest.mark.parametrize("protocol", ["inheritance", "ceiling", "immediate"])
def test_no_simulated_response_is_above_the_bound(protocol):
    reached = checked = 0
    for seed, tasks in enumerate(random_sets(250)):
        B = blocking(tasks, protocol)
        run = simulate(tasks, releases=sporadic, until=150, seed=seed, locks=LockTable(tasks, protocol))
        assert not run.deadlocked
        for row, R in zip(tasks, response_times(tasks, B)):
            for job in run.of(row.name):
                assert R is None or job.response <= R, (tasks, row)
                checked += 1
        reached += any(run.response(t.name) > R for t, R in zip(tasks, response_times(tasks)) if R and run.of(t.name))
    assert checked > 2000 and reached > 5  # responses above the bound that forgets blocking: the planted mistake


def test_sections_exclude_each_other():
    for seed, tasks in enumerate(random_sets(60)):
        for protocol in ("none", "inheritance", "ceiling", "immediate"):
            run = simulate(tasks, releases=sporadic, until=100, seed=seed, locks=LockTable(tasks, protocol),
            processors=2
                           if protocol != "ceiling" and protocol != "immediate" else 1)  # fmt: skip
            for name in "ABC":
                held = sorted(piece[3:5] for piece in run.slices if name in piece.locks)
                assert all(end <= start for (_, end), (start, _) in pairwise(held))
