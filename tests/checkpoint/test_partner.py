"""States in the memories of other nodes: they come back to the bit, of one step, whoever is left."""

import re

import numpy as np
import pytest

from reference import mpi
from reference.checkpoint.partner import PartnerCopies, StateLost, pick, recover
from reference.checkpoint.placement import in_groups, of_ranks
from reference.worlds import launch, networks

NODES = (0, 0, 1, 1, 2, 2)


def state(rank, step, n=1000):
    """A state that anybody can tell: other lengths on other ranks."""
    return np.random.default_rng([rank, step]).integers(0, 256, n + rank, dtype=np.uint8)


def saved(comm, steps=(1, 2), copies=2):
    partners = PartnerCopies(comm.Dup(), of_ranks(NODES, in_groups(3, copies)))
    for step in steps:
        partners.save(step, state(comm.rank, step))
    return partners


def lose_a_node(comm, gone, copies):
    """The ranks of these nodes come back with nothing."""
    partners = saved(comm, copies=copies)
    states = {} if NODES[comm.rank] in gone else partners.states
    step, found = recover(comm.Dup(), states, [comm.rank], comm.size)
    return step, list(found) == [comm.rank] and np.array_equal(found[comm.rank], state(comm.rank, 2))


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 1), (1, 2), ()])
def test_the_states_of_lost_nodes_come_back(gone):
    run = launch(lose_a_node, 6, gone, max(2, len(gone) + 1))
    assert run.results == [(2, True)] * 6


def test_on_real_ranks_too(world):
    assert launch(lose_a_node, 6, (2,), 2, world=world).results == [(2, True)] * 6


def test_a_save_sends_each_state_once_for_each_further_copy():
    n = 10_000
    for copies in (2, 3):

        def program(comm, copies=copies):
            partners = PartnerCopies(comm, in_groups(6, copies))
            partners.save(1, state(comm.rank, 1, n))

        bytes_sent = launch(program, 6).bytes_sent
        assert all((copies - 1) * n <= sent <= (copies - 1) * n + 600 for sent in bytes_sent)


def test_survivors_take_over_the_states_of_the_lost():
    """Node 2 is lost and nobody comes: four ranks with new numbers share six states."""
    takes = {0: [0, 4], 1: [1, 5], 2: [2], 3: [3]}

    def program(comm):
        partners = saved(comm)
        left = comm.Split(comm.rank < 4, comm.rank)
        if comm.rank > 3:
            return None
        step, found = recover(left, partners.states, takes[left.rank], 6)
        return step, [owner for owner in found if np.array_equal(found[owner], state(owner, 2))]

    assert launch(program, 6).results == [(2, takes[rank]) for rank in range(4)] + [None, None]


def test_a_failure_in_the_middle_of_a_save_leaves_the_step_before():
    """Rank 5 has not committed step 2 when node 0 is lost: step 1 is whole, and step 2 is on no account mixed in."""

    def program(comm):
        partners = saved(comm, steps=(1,))
        partners.begin(2, state(comm.rank, 2))
        before = {step: set(slot) for step, slot in partners.states.items()}
        states = {} if NODES[comm.rank] == 0 else partners.states
        step, found = recover(comm.Dup(), states, [comm.rank], comm.size)
        partners.commit()
        return set(before), step, np.array_equal(found[comm.rank], state(comm.rank, 1)), set(partners.states)

    assert launch(program, 6).results == [({1}, 1, True, {2})] * 6


def test_nobody_frees_the_step_before_while_somebody_lacks_the_new_one():
    """Rank 2 is three seconds late. Were the others' older copies gone by then, its node's loss would be final."""

    def program(comm):
        partners = PartnerCopies(comm.Dup(), in_groups(3, 2))
        partners.save(1, state(comm.rank, 1))
        partners.begin(2, state(comm.rank, 2))
        mpi.compute(comm, 3.0 * (comm.rank == 2))
        partners.commit()
        return comm.wtime()

    assert min(launch(program, 3).results) >= 3


def test_what_changes_after_begin_is_not_in_the_copy_and_the_transfer_is_hidden():
    """Training goes on and changes the state in place; 1 MB at 1 GB/s is 1 ms, behind 2 ms of computing."""

    def program(comm, computing):
        own = state(comm.rank, 1, 1_000_000)
        partners = PartnerCopies(comm.Dup(), in_groups(2, 2))
        before = comm.wtime()
        partners.begin(1, own)
        own[:] = 0
        mpi.compute(comm, computing)
        partners.commit()
        waited = comm.wtime() - before - computing
        other = 1 - comm.rank
        return waited, np.array_equal(partners.states[1][other], state(other, 1, 1_000_000))

    network = networks.uniform(1e-6, 1e-9)
    for computing, least, most in ((0.0, 1e-3, 1.1e-3), (2e-3, 0.0, 5e-5)):
        for waited, right in launch(program, 2, computing, network=network).results:
            assert least <= waited <= most and right


def test_all_ranks_are_told_when_both_copies_are_lost():
    """Three nodes and two copies are a ring: node 0's copies are on node 1."""
    assert of_ranks(NODES, in_groups(3, 2))[0] == (0, 2)
    assert launch(lose_two_nodes, 6).results == [True] * 6


def lose_two_nodes(comm):
    partners = saved(comm)
    states = {} if NODES[comm.rank] in (0, 1) else partners.states
    with pytest.raises(StateLost, match=re.escape("of step 2 the states of ranks [0, 1] are in no memory")):
        recover(comm.Dup(), states, [comm.rank], comm.size)
    with pytest.raises(StateLost, match="all states are in no memory"):
        recover(comm.Dup(), {}, [comm.rank], comm.size)
    return True


def test_the_newest_whole_step_is_taken_and_the_work_is_shared():
    held = [{2: [0, 1], 1: [0, 1]}, {1: [1, 2]}, {2: [2, 0], 1: [2]}]
    assert pick(held, [[], [1, 0], []], 3) == (2, [(0, 1, 1), (2, 1, 0)])
    assert pick([held[0], {1: [1, 2]}], [[2], []], 3) == (1, [(1, 0, 2)])  # nobody has 2 of step 2
    with pytest.raises(StateLost, match=re.escape("of step 2 the states of ranks [1] are")):
        pick(held[2:], [[2]], 3)


def test_what_is_refused():
    def program(comm):
        partners = PartnerCopies(comm, in_groups(2, 2))
        with pytest.raises(RuntimeError, match="no save has begun"):
            partners.commit()
        partners.begin(1, state(comm.rank, 1))
        with pytest.raises(RuntimeError, match="step 1 is under way"):
            partners.begin(2, state(comm.rank, 2))
        partners.commit()
        for holders in (in_groups(4, 2), [(1, 0), (0, 1)]):
            with pytest.raises(ValueError, match="own rank first"):
                PartnerCopies(comm, holders)
        return True

    assert launch(program, 2).results == [True] * 2
