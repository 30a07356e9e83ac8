"""Ranks die at any call, on the virtual cluster: whoever is left ends with what one rank alone would have."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.recovery.problem import SmallNet
from reference.recovery.replicated import serially, train_replicated
from reference.recovery.sharded import Holding, Whole, begin, take_steps, train_sharded
from reference.recovery.shrink import shrink, survive
from reference.recovery.spare import survive_with_spares
from reference.worlds import Kill, RankFailed, UnreceivedMessages, launch

from ..examples import examples

PROBLEM = SmallNet(samples=24, hidden=4)
SIZE, RATE, STEPS, RANKS = 10, 0.02, 6, 4  # two epochs of batches of 10, 10 and 4


@cache
def alone():
    return serially(PROBLEM, [SIZE] * STEPS, [RATE] * STEPS)


def rule(ranks):
    return SIZE, RATE


def from_the_start():
    n = PROBLEM.n
    return Whole(0, 0, (), PROBLEM.start(), np.zeros((2, n)))


def check(run, least: int):
    """The survivors have the serial program's weights and losses, and are as many as they can be."""
    left = [result for result in run.results if result is not None]
    assert len(left) >= least
    for state, _ in left:
        np.testing.assert_allclose(state.w, alone().w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.losses, alone().losses, rtol=0, atol=1e-12)
        assert state.position == 48
    return left


def replicated(comm):
    state, left = train_replicated(comm, PROBLEM, STEPS, rule)
    return state, left.size


def sharded(comm):
    last, left = train_sharded(comm, PROBLEM, STEPS, rule, from_the_start)
    return last, left.size


deaths = st.dictionaries(st.integers(0, RANKS - 1), st.integers(0, 70), min_size=1, max_size=RANKS - 1)


@examples(12)
@given(deaths)
def test_replicas_go_on_whoever_dies_and_whenever(deaths):
    run = launch(replicated, RANKS, faults=[Kill(rank, after=calls) for rank, calls in deaths.items()])
    for state, _ in check(run, RANKS - len(deaths)):
        assert state.counts.tolist() == [2] * 24  # each sample once an epoch, in the gradients that were applied


@examples(12)
@given(deaths)
def test_shards_go_on_whoever_dies_and_whenever(deaths):
    check(launch(sharded, RANKS, faults=[Kill(rank, after=calls) for rank, calls in deaths.items()]), 1)


@pytest.mark.parametrize("calls", range(0, 40, 3))
def test_a_partner_has_what_a_dead_rank_had(calls):
    """No fallback, and one death at any call: nothing is lost."""

    def program(comm):
        return train_sharded(comm, PROBLEM, STEPS, rule)[0], 0

    check(launch(program, RANKS, faults=[Kill(2, after=calls)]), RANKS - 1)


def test_two_neighbours_at_once_are_too_many():
    def program(comm):
        return train_sharded(comm, PROBLEM, STEPS, rule)

    with pytest.raises(RankFailed, match="TooFew: a rank died together with the partner"):
        launch(program, RANKS, faults=[Kill(1, after=20), Kill(2, after=20)])


def test_fewer_ranks_than_make_sense_are_too_few():
    def program(comm):
        return train_replicated(comm, PROBLEM, STEPS, rule, fewest=4)

    with pytest.raises(RankFailed, match="TooFew: 3 of 4 ranks are left, and 4 are needed"):
        launch(program, RANKS, faults=[Kill(1, after=5)])


@pytest.mark.parametrize("calls", [0, 1, 5, 12, 25])
@pytest.mark.parametrize("who", [0, 2])
def test_a_spare_takes_the_place_of_a_member(who, calls):
    """A team of 3 and a spare: the team has 3 ranks again, and the spare has its shard from the others."""

    def program(comm):
        held, teams = (Holding() if comm.rank == 3 else None), []

        def work(team):
            nonlocal held
            teams.append(team.size)
            held = held or begin(team, PROBLEM)
            take_steps(team, PROBLEM, held, STEPS, rule, from_the_start)
            return held.versions[-1]

        found, _ = survive_with_spares(comm, work, 1, 3)
        return found, teams

    run = launch(program, RANKS, faults=[Kill(who, after=calls)])
    teams = [result[1] for result in run.results if result is not None]
    assert {team[-1] for team in teams} == {3} and teams[-1] == [3]
    check(run, 3)


def test_an_error_that_is_no_death_is_passed_on():
    def program(comm):
        def work(comm):
            comm.Revoke()  # as if somebody had noticed a death
            comm.Barrier()

        survive(comm, work)

    with pytest.raises(RankFailed, match="ERR_REVOKED"):
        launch(program, 3)


def test_the_dead_and_the_new_numbers_are_told():
    def program(comm):
        try:
            comm.Barrier()
            comm.Barrier()
        except mpi.Exception:
            pass
        shrunk = shrink(comm)
        return shrunk.before, shrunk.lost, shrunk.comm.rank

    run = launch(program, 5, faults=[Kill(0, after=0), Kill(3, after=0)])
    assert [result for result in run.results if result] == [([1, 2, 4], [0, 3], rank) for rank in range(3)]


@pytest.mark.parametrize("revokes", [True, False])
def test_requests_of_a_revoked_communicator_are_nobodys_debt(revokes):
    def program(comm):
        comm.Irecv(np.empty(1), (comm.rank + 1) % 2)
        if revokes:
            shrink(comm)

    if revokes:
        launch(program, 2)
    else:
        with pytest.raises(UnreceivedMessages):
            launch(program, 2)
