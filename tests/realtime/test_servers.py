"""The constant bandwidth server: the figure of the book, and nobody is harmed."""

from random import Random

import pytest

from reference.realtime import PeriodicTask, simulate
from reference.realtime.servers import ConstantBandwidthServer, hard_and_served

from .sets import small_sets


def jobs(*times: tuple[int, int]):
    """A pattern and a draw for a task whose jobs come and execute as told: (arrival, ticks)."""
    left = iter([ticks for _, ticks in times])
    return (
        lambda task, rng: iter([(at, at) for at, _ in times])
    ), lambda task, segment, rng: next(left) if task.name == "soft" else segment.ticks


def test_buttazzo_figure_6_14():
    """Q = 3, T = 8 beside a hard task of 4 every 7; jobs of 4 at 3 and of 3 at 13 end at 12 and 20."""
    tasks = [PeriodicTask("hard", 4, 7), PeriodicTask("soft", 4, 100)]
    pattern, draw = jobs((3, 4), (13, 3))
    server = ConstantBandwidthServer(3, 8)
    run = simulate(tasks, "edf", releases={"soft": pattern}, execution=draw, accounts={"soft": server}, until=28)
    assert [job.finish for job in run.of("soft")] == [12, 20]
    assert (server.deadline, server.budget) == (27, 2)
    assert not [job for job in run.missed() if job.task.name == "hard"]
    assert [piece[3:5] for piece in run.slices if piece.task == "soft"] == [(4, 7), (11, 12), (13, 15), (19, 20)]


def test_a_job_that_runs_wild_harms_nobody():
    """Hard tasks beside a server that is asked for more than it has; without the server they are late."""
    rng, harmed, served = Random(1), 0, 0
    for seed, tasks in enumerate(small_sets(200, tasks=(1, 3), share=0.4)):
        ticks, period = rng.randint(1, 6), rng.randint(6, 20)
        server, soft = ConstantBandwidthServer(ticks, period), PeriodicTask("soft", 60, 90)
        told = hard_and_served([*tasks, soft], {"soft": server})
        if not told:
            assert told.schedulable is None and "bound is 1" in told.because
            continue
        served += 1
        run = simulate([*tasks, soft], "edf", accounts={"soft": server}, until=360, seed=seed)
        assert not [job for job in run.missed() if job.task.name != "soft"], tasks
        free = simulate([*tasks, PeriodicTask("soft", 60, 90, 60)], "edf", until=360)
        harmed += any(job.task.name != "soft" for job in free.missed())
    assert served > 50 and harmed > 20


def test_what_is_promised_is_kept():
    """A served task that needs Q every T, and no more, meets its deadlines, too."""
    for tasks in small_sets(100, tasks=(1, 3), share=0.3, seed=3):
        soft = PeriodicTask("soft", 3, 12)
        server = ConstantBandwidthServer(3, 12)
        if hard_and_served([*tasks, soft], {"soft": server}):
            assert not simulate([*tasks, soft], "edf", accounts={"soft": server}).missed(), tasks


def test_suspension_does_not_save_a_budget_for_later():
    """After a pause, what is left of a budget counts only within Q / T until its deadline."""
    server = ConstantBandwidthServer(4, 10)
    server.begin(0, idle=True)
    server.budget = 3
    server.begin(2, idle=True)  # 3 <= 8 * 4 / 10 = 3.2: kept
    assert (server.budget, server.deadline) == (3, 10)
    server.begin(3, idle=True)  # 3 > 7 * 4 / 10 = 2.8: anew
    assert (server.budget, server.deadline) == (4, 13)


def test_a_job_that_waited_goes_on_with_budget_and_deadline():
    """The first job ends at 7 with 2 ticks left until 8. The second one has waited, and has these."""
    tasks = [PeriodicTask("hard", 6, 100, 7), PeriodicTask("soft", 1, 100)]
    pattern, draw = jobs((0, 1), (1, 1))
    server = ConstantBandwidthServer(3, 8)
    run = simulate(tasks, "edf", releases={"soft": pattern}, execution=draw, accounts={"soft": server}, until=20)
    assert [job.finish for job in run.of("soft")] == [7, 8] and (server.budget, server.deadline) == (1, 8)


def test_what_a_server_cannot_be():
    for ticks, period in ((0, 5), (6, 5)):
        with pytest.raises(ValueError, match=f"got {ticks} every {period}"):
            ConstantBandwidthServer(ticks, period)
    with pytest.raises(ValueError, match="D >= T"):
        hard_and_served([PeriodicTask("a", 1, 9, 5)], {})
