"""Chains: small ones by hand, equal largest values, never above the bounds."""

from itertools import pairwise
from random import Random

import pytest

from reference.realtime import PeriodicTask, hyperperiod, jittered, response_times, simulate, uniform
from reference.realtime.chains import (
    accesses,
    ages,
    data_age,
    davare,
    holistic,
    logical_accesses,
    reaction_time,
    reactions,
)
from reference.realtime.simulate import triggered

from .sets import small_sets, table


def test_by_hand():
    """Reads and writes drawn by hand: the second job of b reads what the first job of a has written."""
    a, b = [(0, 2), (10, 12), (20, 22)], [(1, 3), (6, 8), (11, 13), (16, 18), (21, 23), (26, 28)]
    assert reactions([a, b]) == [18 - 0, 28 - 10]  # after the read at 0: written at 12, read at 16, answered at 18
    assert ages([a, b]) == [13 - 0, 18 - 0, 23 - 10, 28 - 10]
    assert davare(table("a 2 10\nb 2 5"), [2, 3]) == 20


def test_the_docstrings_numbers():
    tasks = table("perception 50 100\nplanning 30 100\ncontrol 10 20")
    assert davare(tasks, [60, 90, 10]) == 380
    with pytest.raises(ValueError, match="R = 30 and T = 20"):
        davare(tasks, [60, 90, 30])


def test_runs_are_never_above_the_bound_and_both_maxima_are_equal():
    """Equal over a whole schedule: what Guenzel et al. (2023) prove."""
    rng, compared = Random(1), 0
    for tasks in small_sets(160, tasks=(3, 5), share=0.3, offsets=True, seed=2):
        found = response_times(tasks)
        if None in found or any(task.period < R for task, R in zip(tasks, found)):
            continue
        chain = rng.sample(range(len(tasks)), 3)
        names, bound = [tasks[i].name for i in chain], davare([tasks[i] for i in chain], [found[i] for i in chain])
        run = simulate(tasks, until=6 * hyperperiod(tasks) + 100)
        assert reaction_time(run, names) == data_age(run, names) <= bound
        compared += 1
    assert compared > 60


def test_with_jitter_and_changing_execution_the_bound_holds():
    for seed, tasks in enumerate(small_sets(150, tasks=(3, 4), share=0.25, jitter=0.4, seed=3)):
        found = response_times(tasks)
        if None in found or any(task.period < R for task, R in zip(tasks, found)):
            continue
        run = simulate(tasks, releases=jittered, execution=uniform(0.3), seed=seed, until=600)
        names = [task.name for task in tasks]
        assert max(reaction_time(run, names), data_age(run, names)) <= davare(tasks, found)


def test_the_sum_of_responses_is_no_bound():
    """The planted mistake: what is often taken for the end-to-end latency is below what a run shows."""
    tasks = table("control 10 20\nplanning 30 100\nperception 50 100")
    found, names = response_times(tasks), ["perception", "planning", "control"]
    assert reaction_time(simulate(tasks, until=2000), names) > sum(R for R in found if R)


def test_logical_execution_times_do_not_depend_on_the_schedule():
    tasks = table("a 2 10\nb 2 5")
    chain = logical_accesses(tasks, 200)
    assert max(reactions(chain)) == max(ages(chain)) == 10 + 10 + 5
    assert chain[0][:2] == [(0, 10), (10, 20)]


def test_reactions_of_a_run_need_an_end():
    run = simulate(table("a 2 10\nb 2 10"), until=10)
    assert accesses(run, ["a"]) == [[(0, 2)]]
    with pytest.raises(ValueError):
        reaction_time(run, ["a", "b"])


def transaction(rng: Random, name: str, length: int) -> tuple[list[PeriodicTask], dict[str, str]]:
    period = rng.choice((40, 60, 80, 120))
    tasks = [
        PeriodicTask(f"{name}{i}", rng.randint(2, 9), period, 3 * period).on(rng.choice(("cpu0", "cpu1")))
        for i in range(length)
    ]
    return tasks, {a.name: b.name for a, b in pairwise(tasks)}


def test_holistic_bounds_hold():
    rng, proved = Random(4), 0
    for seed in range(200):
        chains = [transaction(rng, name, rng.randint(2, 3)) for name in "abc"]
        tasks = [task for part, _ in chains for task in part]
        rng.shuffle(tasks)
        triggers = {first: after for _, part in chains for first, after in part.items()}
        found = holistic(tasks, triggers)
        patterns = dict.fromkeys(triggers.values(), triggered)
        run = simulate(
            tasks, processors={"cpu0": 1, "cpu1": 1}, releases=patterns, triggers=triggers, until=480, seed=seed,
            execution=uniform(0.3) if seed % 2 else None,
        )  # fmt: skip
        for part, _ in chains:
            for task in part:
                R = found[task.name]
                if R is None:
                    continue
                proved += 1
                first = run.of(part[0].name)
                assert all(job.finish - first[job.number].arrival <= R for job in run.of(task.name)), (tasks, triggers)
    assert proved > 200


def test_what_cannot_be_a_chain():
    with pytest.raises(ValueError, match="every 10 ticks cannot release b every 20"):
        holistic(table("a 1 10\nb 1 20"), {"a": "b"})
    assert holistic(table("a 6 10\nb 6 10"), {"a": "b"}) == {"a": None, "b": None}
