"""What the graders of chapter 14 take for right is what its package says, or what trying everything finds."""

import itertools

import pytest

from exercises.graders.ch14_real_time import fill_in, predict, repair, speed_up, write
from exercises.grading.grade import draw
from reference.realtime import chains, demand, non_preemptive, probability
from reference.realtime.locks import LockTable
from reference.realtime.response_time import fixed_priority, response_time
from reference.realtime.simulate import simulate
from reference.realtime.tasks import PeriodicTask, Segment
from reference.realtime.utilisation import liu_layland
from tests.exercises.test_graders import SEED

pytestmark = pytest.mark.chapter(number=14)


def arguments(exercise, name):
    """The arguments of all its cases."""
    return [case.arguments[0] for case in draw(exercise, name, SEED)]


def proof(tasks):
    if liu_layland(tasks):
        return "bound"
    if fixed_priority(tasks):
        return "exact"
    return "EDF" if demand.processor_demand(tasks) else "nobody"


def test_which_proof_holds():
    sets = {name: [PeriodicTask(str(i), *task) for i, task in enumerate(s)] for name, s in predict.SETS.items()}
    assert {name: proof(tasks) for name, tasks in sets.items()} == predict.which_proof.checks[0].right


def test_two_of_three():
    for part, p, c, n in arguments(predict.late_or_wrong, "late_or_wrong"):
        if part == "vote":
            assert predict.probability(part, p, c, n) == pytest.approx(probability.two_of_three(p, c))


def test_no_order_is_missed_and_the_proof_holds():
    for (tasks,) in arguments(fill_in.priorities_of_kernels, "priorities_of_kernels"):
        found = fill_in.audsley(tasks)
        if len(tasks) < 6:
            some = any(fill_in.late(tasks, order) is None for order in itertools.permutations(tasks))
            assert some == (found is not None)
        if found:
            assert non_preemptive.non_preemptive_priority(
                [PeriodicTask(name, *tasks[name], preemptive=False) for name in found]
            )


def test_responses_are_those_of_the_package():
    for C, D, above, B in arguments(write.worst_response, "worst_response"):
        higher = [PeriodicTask(str(i), c, T, T + J, jitter=J) for i, (c, T, J) in enumerate(above)]
        R = response_time(PeriodicTask("own", C, 10 * D), higher, B)
        right = R if R is not None and R <= D else None
        assert write.response(C, D, above, B) == right


def test_demand_is_that_of_the_package():
    for (tasks,) in arguments(write.too_much_demand, "too_much_demand"):
        if all(C <= D for C, _, D in tasks):
            fits = demand.processor_demand([PeriodicTask(str(i), *task) for i, task in enumerate(tasks)])
            assert (write.overload(tasks) is None) == bool(fits)


def test_ages_are_those_of_logical_execution():
    for (chain,) in arguments(write.oldest_data, "oldest_data"):
        if max(T for T, _, _ in chain) < 1000:
            tasks = [PeriodicTask(str(i), 1, T, R, offset=O % T) for i, (T, O, R) in enumerate(chain)]  # noqa: E741
            bound = chains.davare(tasks, [R for _, _, R in chain])
            assert write.oldest(chain) <= bound
            if all(O < T for T, O, _ in chain):  # noqa: E741
                assert write.oldest(chain) == max(chains.ages(chains.logical_accesses(tasks, 2000)))


def test_the_room_is_the_largest_that_is_proved():
    for D, above, slice_ms, below, _ in arguments(write.room_for_execution, "room_for_execution"):
        room, B = write.room(D, above, slice_ms, below, 0), slice_ms if below else 0
        jobs = [(C, T, 0) for C, T in above]
        assert write.response(room + 1, D, jobs, B) is None
        assert room == 0 or write.response(room, D, jobs, B) is not None


def test_who_runs_is_what_the_simulation_does():
    for (jobs,) in arguments(repair.who_runs, "who_runs"):
        tasks = []
        for name, release, body in jobs:
            parts = [(letter, len(list(group))) for letter, group in itertools.groupby(body)]
            segments = tuple(Segment(n, locks=() if letter == "." else (letter,)) for letter, n in parts)
            tasks.append(PeriodicTask(name, period=1000, offset=release, body=segments))
        run = simulate(tasks, locks=LockTable(tasks, "inheritance"), until=500)
        log = ["."] * max(piece.end for piece in run.slices)
        for piece in run.slices:
            log[piece.start : piece.end] = piece.task * (piece.end - piece.start)
        assert "".join(log) == repair.run(jobs)


def test_no_choice_is_worth_more():
    for (tasks,) in arguments(speed_up.shed_load, "shed_load"):
        if len(tasks) < 6:
            best = speed_up.every(tasks, speed_up.worth)
            assert speed_up.most(tasks) == (best and speed_up.worth(tasks, best))
