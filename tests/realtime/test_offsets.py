"""Offsets: equal to a schedule worked out tick by tick, and never above the bound that ignores them."""

from dataclasses import replace

import pytest

from reference.realtime import PeriodicTask, hyperperiod, response_times
from reference.realtime import offsets as analysis
from reference.realtime.tasks import utilisation

from .sets import small_sets


def tick_by_tick(tasks) -> list[int]:
    """Responses by a loop over all ticks: another program than the simulation, and simpler."""
    left: dict[tuple[int, int], int] = {}
    worst = [0] * len(tasks)
    end = max(task.offset for task in tasks) + 2 * hyperperiod(tasks)
    now = 0
    while now < end or left:
        for place, task in enumerate(tasks):
            if now < end and now >= task.offset and (now - task.offset) % task.period == 0:
                left[place, now] = task.execution
        if left:
            job = min(left)
            left[job] -= 1
            if not left[job]:
                worst[job[0]] = max(worst[job[0]], now + 1 - job[1])
                del left[job]
        now += 1
    return worst


def test_offsets_keep_two_tasks_apart():
    tasks = [PeriodicTask("a", 2, 4, 2), PeriodicTask("b", 2, 4, 2)]
    assert not analysis.with_offsets(tasks) and response_times(tasks) == (2, 4)
    assert analysis.with_offsets([tasks[0], replace(tasks[1], offset=2)])


def test_equal_to_tick_by_tick_and_below_the_bound():
    below = 0
    for tasks in small_sets(120, share=0.4, offsets=True):
        if utilisation(tasks) > 1:
            assert set(analysis.response_times(tasks)) == {None}
            continue
        found = analysis.response_times(tasks)
        assert list(found) == tick_by_tick(tasks), tasks
        bounds = response_times(tasks)
        assert all(bound >= R for R, bound in zip(found, bounds) if bound is not None)
        below += found != bounds
    assert below > 20


def test_what_is_not_one_schedule_is_refused():
    with pytest.raises(ValueError, match="without jitter"):
        analysis.response_times([PeriodicTask("a", 2, 4, jitter=1)])
