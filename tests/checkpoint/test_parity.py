"""Parity of a group of ranks: any r of them may be lost, and it costs r / (P - r) of the memory that a copy does."""

import re
from itertools import combinations

import numpy as np
import pytest

from reference.checkpoint.parity import parity_bytes, place, recover_parity, repair, save_parity
from reference.checkpoint.partner import StateLost
from reference.worlds import launch, networks


def state(rank, n=60):
    return np.random.default_rng(rank).integers(0, 256, n + rank, dtype=np.uint8)


def all_losses(comm, r):
    """Every set of r ranks is lost in turn; those ranks come back with nothing. Which sets were not recovered."""
    own = state(comm.rank)
    saved = save_parity(comm, own, r)
    own[:] = 0  # training goes on
    wrong = []
    for gone in combinations(range(comm.size), r):
        found = recover_parity(comm, None if comm.rank in gone else saved, [comm.rank])
        if not np.array_equal(found[comm.rank], state(comm.rank)):
            wrong.append(gone)
    return wrong


@pytest.mark.parametrize(("P", "r"), [(2, 1), (3, 1), (3, 2), (4, 1), (5, 2), (5, 3), (8, 1)])
def test_any_r_of_p_ranks_come_back(P, r):
    assert launch(all_losses, P, r).results == [[]] * P


def test_on_real_ranks_too(world):
    assert launch(all_losses, 4, 2, world=world).results == [[]] * 4


def test_survivors_take_over_in_any_order():
    """Ranks 1 and 4 of 5 are lost; three ranks with other numbers share the five states."""
    takes = [[4], [3, 1], [0, 2]]

    def program(comm):
        saved = save_parity(comm.Dup(), state(comm.rank), 2)
        left = comm.Split(comm.rank in (0, 2, 3), -comm.rank)  # 3, 2, 0
        if comm.rank in (1, 4):
            return None
        found = recover_parity(left, saved, takes[left.rank])
        return [owner for owner in found if np.array_equal(found[owner], state(owner))]

    assert launch(program, 5).results == [takes[2], None, takes[1], takes[0], None]


@pytest.mark.parametrize(("P", "r"), [(4, 1), (8, 1), (8, 2), (8, 3)])
def test_what_it_keeps_and_sends(P, r):
    n = 42_000

    def program(comm):
        saved = save_parity(comm, np.ones(n, dtype=np.uint8), r)
        return saved.parity.nbytes

    run = launch(program, P)
    assert run.results == [parity_bytes(n, P, r)] * P and parity_bytes(n, P, r) == r * n // (P - r)
    assert all(r * n <= sent <= r * n + 500 * P for sent in run.bytes_sent)


def test_repair_is_shared_among_those_who_are_left():
    """One of 8 is lost. Were all blocks sent to it, they would come one after the other; so they come in parts."""
    P, n, beta = 8, 700_000, 1e-9

    def program(comm):
        saved = save_parity(comm, np.ones(n, dtype=np.uint8))
        comm.Barrier()
        before = comm.wtime()
        recover_parity(comm, None if comm.rank == 3 else saved, [3] if comm.rank == 3 else [])
        return comm.wtime() - before

    run = launch(program, P, network=networks.uniform(1e-7, beta))
    assert n * beta <= max(run.results) <= 3 * n * beta < (P - 1) * n * beta


def test_each_member_has_one_block_of_each_stripe_and_chunks_of_its_own():
    for P, r in ((4, 1), (7, 3)):
        for stripe in range(P):
            assert sorted(place(member, stripe, P, r) for member in range(P)) == list(range(P))
        for member in range(P):
            chunks = sorted(place(member, stripe, P, r) for stripe in range(P))
            assert chunks == list(range(P))  # P - r chunks once each, and r parity blocks


def test_more_losses_than_parity_blocks_are_told_to_all():
    def program(comm):
        saved = save_parity(comm, state(comm.rank))
        words = re.escape("members [0, 2] of a group of 4 are lost, and its parity bears 1")
        with pytest.raises(StateLost, match=words):
            recover_parity(comm, None if comm.rank in (0, 2) else saved, [comm.rank])
        with pytest.raises(StateLost, match="no member"):
            recover_parity(comm, None, [comm.rank])
        with pytest.raises(ValueError, match="bear the loss of 4: take 1 to 3"):
            save_parity(comm, state(comm.rank), 4)
        return True

    assert launch(program, 4).results == [True] * 4


def test_nothing_is_computed_for_what_nobody_wants():
    plan = repair([None, 1, 2, 3], [[], [], [2], []], 4, 1)
    assert plan == ([], {})
    plan = repair([None, 1, 2, 3], [[0], [], [], []], 4, 1)
    assert plan.lost == [0] and set(plan.stripes) == {1, 2, 3}  # of stripe 0 it has the parity
    assert len({worker for worker, _ in plan.stripes.values()}) == 3
