"""Data-parallel training that survives: with nobody dying, it is the serial program; who is behind catches up."""

import numpy as np
import pytest

from reference.recovery.problem import SmallNet
from reference.recovery.replicated import Progress, catch_up, mine, serially, take_steps
from reference.worlds import launch

PROBLEM = SmallNet()


def test_a_batch_is_shared_without_rest():
    shares = [mine(np.arange(10), rank, 4).tolist() for rank in range(4)]
    assert shares == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_it_is_the_serial_program(world, ranks):
    def program(comm):
        state = Progress.begin(PROBLEM)
        take_steps(comm, PROBLEM, state, 10, lambda ranks: (20, 0.02))
        return state

    alone = serially(PROBLEM, [20] * 10, [0.02] * 10)
    for state in launch(program, ranks, world=world).results:
        np.testing.assert_allclose(state.w, alone.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.losses, alone.losses, rtol=0, atol=1e-12)
        assert state.counts.tolist() == [2] * 96 and state.position == 192
    assert alone.losses[-1] < alone.losses[0]


@pytest.mark.parametrize("ahead", [0, 2])
def test_who_is_behind_takes_the_state_of_who_is_ahead(ahead):
    """One rank has a step more: its all-reduce returned, those of the others failed. A third has just joined."""

    def program(comm):
        state = serially(PROBLEM, [20] * (6 + (comm.rank == ahead)), [0.02] * 7)
        if comm.rank == 1:
            state = Progress.begin(PROBLEM)
            state.step = -1
        catch_up(comm, state)
        return state

    want = serially(PROBLEM, [20] * 7, [0.02] * 7)
    for state in launch(program, 3).results:
        assert (state.step, state.position, state.losses) == (want.step, want.position, want.losses)
        for got, right in zip((state.w, state.m, state.v, state.counts), (want.w, want.m, want.v, want.counts)):
            np.testing.assert_array_equal(got, right)


def test_equal_ranks_send_nothing_but_their_steps():
    def program(comm):
        catch_up(comm, Progress.begin(PROBLEM))

    assert sum(launch(program, 3).bytes_sent) < 200
