"""Rows change owners while training goes on: none is lost, none is there twice, and all ranks switch together."""

import numpy as np
import pytest
import torch

from reference.mpi import compute
from reference.rebalance import SharedRows, reassigned, transfers
from reference.rebalance.migrate import fingerprint
from reference.worlds import launch, networks

UNITS, WIDTH, STEPS = 12, 5, 50


def rows(units, dtype=torch.float32):
    """What unit u has in its row: made from its number, so that anybody can tell."""
    return (torch.as_tensor(units)[:, None] * WIDTH + torch.arange(WIDTH)).to(dtype) + 0.25


def start(comm, shares, dtype=torch.float32):
    owner = np.repeat(np.arange(comm.size), shares)
    units = np.flatnonzero(owner == comm.rank)
    return SharedRows(comm.Dup(), owner, [rows(units, dtype), -rows(units, dtype)])


def later(shared, goal):
    return reassigned(shared.owner, transfers(np.bincount(shared.owner).tolist(), goal))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_rows_arrive_and_the_old_ones_are_there_until_then(world, dtype):
    def program(comm):
        shared = start(comm, [6, 4, 2], dtype)
        old = [tensor.clone() for tensor in shared.tensors]
        for goal in ([3, 4, 5], [5, 6, 1], [1, 1, 10]):
            shared.begin(later(shared, goal))
            assert all(map(torch.equal, shared.tensors, old))  # until the switch
            assert shared.switch() and shared.moving is None
            old = [tensor.clone() for tensor in shared.tensors]
            assert all(map(torch.equal, old, [rows(shared.units, dtype), -rows(shared.units, dtype)]))
            assert comm.allreduce(len(shared.units)) == UNITS and len(shared.units) == goal[comm.rank]
        return True

    assert launch(program, 3, world=world).results == [True] * 3


def one_after_the_other(comm, agree):
    """Rank 0 gives rows to 1 and then to 2 through one port; how many units this rank owns, step by step."""
    shared = start(comm, [8, 2, 2])
    shared.begin(later(shared, [2, 4, 6]))
    owned = []
    for _ in range(STEPS):
        compute(comm, 20e-6)
        if agree:
            shared.switch(wait=False)
        elif shared.moving and shared.arrived():  # the mistake: each for itself
            shared.owner, shared.tensors, shared.moving = shared.moving.owner, shared.moving.tensors, None
        owned.append(len(shared.units))
    return owned


@pytest.mark.parametrize("beta", [0.5e-6, 1e-6, 1.5e-6])  # seconds per byte
def test_a_switch_without_agreement_loses_or_doubles_rows(beta):
    network = networks.uniform(1e-6, beta)
    owned = np.array(launch(one_after_the_other, 3, True, network=network).results)
    assert owned.sum(0).tolist() == [UNITS] * STEPS and owned[:, -1].tolist() == [2, 4, 6]
    owned = np.array(launch(one_after_the_other, 3, False, network=network).results)
    assert set(owned.sum(0).tolist()) - {UNITS} and owned[:, -1].tolist() == [2, 4, 6]


def test_while_one_is_late_all_keep_the_old_rows():
    def program(comm):
        shared = start(comm, [6, 6])
        shared.begin(later(shared, [2, 10]))
        first = shared.switch(wait=False)
        kept = len(shared.units)
        return first, kept, shared.moving is not None, shared.switch(), len(shared.units)

    found = launch(program, 2, network=networks.uniform(1.0, 1e-3)).results
    assert found == [(False, 6, True, True, 2), (False, 6, True, True, 10)]


def test_who_is_not_concerned_waits_for_those_who_are():
    """Rank 2 neither gives nor takes, so nothing of its own is ever late."""

    def program(comm):
        shared = start(comm, [6, 2, 4])
        shared.begin(later(shared, [4, 4, 4]))
        first = shared.switch(wait=False), shared.moving is not None, shared.owner.tolist().count(0)
        return first, shared.switch(), shared.owner.tolist().count(0)

    found = launch(program, 3, network=networks.uniform(1.0, 1e-3)).results
    assert found == [((False, True, 6), True, 4)] * 3


@pytest.mark.parametrize("what", ["changed meanwhile", "lost", "doubled", "altered", "swapped"])
def test_all_keep_the_old_rows_if_one_copy_is_worthless(what):
    def program(comm):
        shared = start(comm, [4, 4, 4])
        shared.begin(later(shared, [2, 4, 6]))
        if comm.rank == 2:
            new = shared.moving.tensors[0]
            if what == "changed meanwhile":
                shared.tensors[0].mul_(2)  # an optimizer's step, for example
            elif what == "lost":
                new[-1] = 0
                shared.moving.arriving.clear()
            elif what == "doubled":
                shared.moving.owner[:] = np.where(shared.moving.owner == 0, 2, shared.moving.owner)
                shared.moving.tensors[:] = [torch.cat([new, new])[: (shared.moving.owner == 2).sum()]] * 2
                shared.moving.arriving.clear()
            elif what == "altered":
                new[-1, 0] += 2**-16
            else:
                new[-2:] = new[-2:].flip(0).clone()
        units = shared.units
        assert not shared.switch() and shared.moving is None
        want = rows(units) * (2 if what == "changed meanwhile" and comm.rank == 2 else 1)
        assert torch.equal(shared.tensors[0], want) and len(shared.units) == 4
        shared.begin(later(shared, [3, 4, 5]))  # and it can be tried again
        return shared.switch()

    assert launch(program, 3).results == [True] * 3


@pytest.mark.parametrize("seed", range(3))
def test_fingerprints_of_parts_add_up_and_tell_rows_apart(seed):
    generator = torch.Generator().manual_seed(seed)
    table, units = torch.randn(UNITS, WIDTH, generator=generator), np.arange(UNITS)
    whole = fingerprint(units, table)
    some = np.random.default_rng(seed).permutation(UNITS)[:5]
    rest = np.setdiff1d(units, some)
    assert (fingerprint(np.sort(some), table[np.sort(some)]) + fingerprint(rest, table[rest])) % 2**63 == whole
    swapped = table.clone()
    swapped[[0, 1]] = table[[1, 0]]
    nothing = torch.zeros(2, WIDTH)
    assert fingerprint(np.array([0, 1]), nothing) != fingerprint(np.array([0, 2]), nothing)
    changed = table.clone()
    changed[3, 2] = torch.nextafter(changed[3, 2], torch.tensor(9.0))
    others = [fingerprint(units, swapped), fingerprint(units, changed), fingerprint(units[1:], table[1:])]
    assert len({whole, *others}) == 4


def test_what_all_ranks_are_told():
    def program(comm):
        shared = start(comm, [6, 6])
        for owner, words in (
            (np.full(UNITS, comm.rank), "owners of the units must be alike"),
            (np.full(UNITS, 2), "one owner"),
            (np.zeros(3, dtype=int), "one owner"),
        ):
            with pytest.raises(ValueError, match=words):
                shared.begin(owner)
        shared.begin(shared.owner)
        with pytest.raises(ValueError, match="under way"):
            shared.begin(shared.owner)
        assert shared.switch() and not shared.switch()  # nothing to move, and nothing under way
        with pytest.raises(ValueError, match="tensors of"):
            SharedRows(comm, shared.owner, [torch.zeros(6 + (comm.rank == 1))])
        return True

    assert launch(program, 2).results == [True] * 2
