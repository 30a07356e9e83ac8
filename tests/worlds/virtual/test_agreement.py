"""Agree and Shrink, clause by clause: survivors are told the same, whenever ranks die."""

from functools import partial

import numpy as np
import pytest

from reference import mpi
from reference.worlds import Kill, launch
from tests.worlds.virtual.test_ulfm import LINE, outcome, run

# Agree --------------------------------------------------------------------------------------------------------


def test_agree_is_the_bitwise_and():
    def program(comm):
        return comm.Agree(0b1111 ^ (1 << comm.rank))

    run = launch(program, 3, network=LINE)
    assert run.results == [0b1000] * 3
    assert run.seconds == pytest.approx(2 * 2 * 0.001)  # up a binomial tree of three, and down


def test_agree_fails_everywhere_if_a_rank_died_before_it_and_somebody_has_not_acknowledged_that():
    def program(comm, careful):
        if comm.rank == 2:
            comm.recv(source=2)
        mpi.sleep(comm, 2)
        if comm.rank in careful:
            comm.Ack_failed()
        return outcome(comm.Agree, 6 + comm.rank), comm.Get_failed().size

    for careful, expected in (((), mpi.ERR_PROC_FAILED), ((0,), mpi.ERR_PROC_FAILED), ((0, 1), 6)):
        assert run(partial(program, careful=careful), 3, Kill(2, at=1.0)).results == [(expected, 1)] * 2 + [None]


def test_after_agree_has_failed_all_know_who_did_not_take_part():
    def program(comm):
        if comm.rank == 2:
            comm.recv(source=2)
        return outcome(comm.Agree, 1), comm.Get_failed().Translate_ranks(None, comm.Get_group())

    assert run(program, 3, Kill(2, at=1.0)).results == [(mpi.ERR_PROC_FAILED, [2])] * 2 + [None]


@pytest.mark.parametrize("at", [0.9, 1.0, 1.0005, 1.001, 1.002, 1.003, 1.005, 1.1])
def test_agree_is_uniform_even_if_a_rank_dies_in_it(at):
    def program(comm):
        mpi.sleep(comm, 1 + 0.001 * comm.rank)
        told = outcome(comm.Agree, 0b111 if comm.rank < 3 else 0b101)
        return told

    results = run(program, 4, Kill(3, at=at)).results
    survivors = set(results[:3])
    assert len(survivors) == 1 and survivors <= {0b101, mpi.ERR_PROC_FAILED}
    assert survivors == {0b101 if at > 1.003 else mpi.ERR_PROC_FAILED}


def test_the_manual_pages_loop_agrees_on_the_failed_ranks():
    """MPIX_Comm_agree(3), example 1: all survivors come to know the same group."""

    def program(comm):
        if comm.rank in (1, 3):
            comm.recv(source=comm.rank)
        while True:
            acked = comm.Ack_failed()
            try:
                comm.Agree(1)
                break
            except mpi.Exception as error:
                assert error.Get_error_class() == mpi.ERR_PROC_FAILED
        failed = comm.Get_failed().Translate_ranks(None, comm.Get_group())
        return sorted(failed[:acked])

    early = launch(program, 5, faults=[Kill(1, at=0.0), Kill(3, at=0.0)], detection=lambda other, dead: 0.1 * other)
    assert early.results == [[1, 3], None, [1, 3], None, [1, 3]]


def test_iagree():
    def program(comm):
        flag = np.array([0b110 + comm.rank], np.intc)
        request = comm.Iagree(flag)
        before = request.Test(), int(flag[0])
        request.Wait()
        return before, int(flag[0])

    assert launch(program, 2, network=LINE).results == [((False, 6), 6), ((False, 7), 6)]


# Shrink -------------------------------------------------------------------------------------------------------


def recover(comm, steps):
    """Add up ones, `steps` times; when somebody dies, go on without."""
    total, dead = np.zeros(1), []
    step = 0
    while step < steps:
        try:
            mpi.compute(comm, 0.1)
            comm.Allreduce(np.ones(1), total)
            step += 1
        except mpi.Exception as error:
            dead.append(error.Get_error_class())
            comm.Revoke()
            comm = comm.Shrink()
            step = comm.allreduce(step, op=min)
    return comm.rank, comm.size, total[0], dead


def test_survivors_shrink_and_go_on_in_the_same_order():
    results = run(partial(recover, steps=10), 5, Kill(2, at=0.45)).results
    assert results.pop(2) is None
    assert [result[:3] for result in results] == [(rank, 4, 4.0) for rank in range(4)]
    assert {error for *_, dead in results for error in dead} <= {mpi.ERR_PROC_FAILED, mpi.ERR_REVOKED}


def test_one_after_the_other_dies():
    kills = [Kill(4, at=0.25), Kill(0, at=0.55), Kill(2, at=0.5505)]
    results = run(partial(recover, steps=10), 5, *kills).results
    assert [result and result[:3] for result in results] == [None, (0, 2, 2.0), None, (1, 2, 2.0), None]


def test_shrink_never_raises_even_if_a_rank_dies_in_it():
    def program(comm):
        comm.Revoke()
        mpi.sleep(comm, 1 + 0.01 * comm.rank)
        small = comm.Shrink()
        return small.size, outcome(small.Barrier)

    before = run(program, 3, Kill(2, at=1.01)).results  # it has not come yet
    meanwhile = run(program, 3, Kill(0, at=1.015)).results  # it has, and nobody knows yet that it is dead
    assert before[:2] == [(2, None)] * 2
    assert meanwhile[1:] == [(3, mpi.ERR_PROC_FAILED)] * 2, "the new communicator may still hold a failed rank"


def test_shrink_excludes_all_whose_failure_a_member_has_been_told():
    def program(comm):
        if comm.rank == 2:
            comm.recv(source=2)
        if comm.rank == 0:
            mpi.sleep(comm, 1.5)  # knows; rank 1 does not before 3 s
            assert outcome(comm.recv, None, 2) == mpi.ERR_PROC_FAILED
        small = comm.Shrink()
        return small.Get_group().Translate_ranks(None, comm.Get_group())

    run = launch(program, 3, faults=[Kill(2, at=1.0)], detection=lambda other, dead: 0.1 if other == 0 else 2.0)
    assert run.results[:2] == [[0, 1]] * 2


def test_shrink_without_failures_is_a_copy_and_ishrink_the_same_later():
    def program(comm):
        first = comm.Shrink()
        later, request = comm.Ishrink()
        early = outcome(later.Barrier), bool(request)
        request.Wait()
        return first.rank, first.size, early, later.rank, later.allreduce(1), first.allreduce(2), later == first

    assert launch(program, 2).results == [(rank, 2, (mpi.ERR_COMM, True), rank, 2, 4, False) for rank in range(2)]


def test_agree_waits_for_the_living_although_some_who_have_come_are_dead():
    def program(comm):
        mpi.sleep(comm, 1 + 0.001 * comm.rank)
        return outcome(comm.Agree, (0b1110, 0b1101, 0b1111, 0b1011)[comm.rank])

    assert run(program, 4, Kill(0, at=1.0005), detection=0.0001).results == [None] + [0b1000] * 3


def test_shrink_excludes_who_has_come_and_died_if_that_is_known():
    def program(comm):
        mpi.sleep(comm, 2.0 * (comm.rank == 0))
        return comm.Shrink().size

    assert run(program, 3, Kill(2, at=1.0)).results == [2, 2, None]


@pytest.mark.parametrize("name", ["Agree", "Shrink"])
def test_who_waits_in_an_agreement_is_not_interrupted_by_revoke(name):
    def program(comm):
        if comm.rank == 0:
            mpi.sleep(comm, 1)
            comm.Revoke()
            mpi.sleep(comm, 1)
        told = comm.Agree(5 + 2 * comm.rank) if name == "Agree" else comm.Shrink().allreduce(1)
        return told, mpi.wtime(comm) > 2

    assert run(program, 3).results == [(1 if name == "Agree" else 3, True)] * 3
