"""Exchanges that follow each other without waking the rank: nothing but their speed differs from a loop of Sendrecv."""

import random

import numpy as np
import pytest

from reference import mpi
from reference.collectives import allreduce
from reference.worlds import launch, networks
from reference.worlds.errors import LaunchError, RankFailed
from reference.worlds.virtual.in_turn import InTurn

NETWORKS = networks.uniform(5e-6, 1e-10, 1e-11), networks.two_level(2, 1e-6, 1e-11, 5e-6, 1e-10)
IN_TURN = "ring", "recursive doubling", "halving-doubling", "binomial tree"


class Awake:
    """A communicator whose ranks are woken after each exchange: its type does not have that one call."""

    def __init__(self, comm):
        self._comm = comm

    def __getattr__(self, name):
        return getattr(self._comm, name)


def reduce(comm, wrap, algorithm, n, op=mpi.SUM):
    """The sum, the times and the state of `random` after two all-reduces, and some work of one rank before each."""
    x, ends, group = np.arange(n, dtype=np.float64) + comm.rank, [], wrap(comm)
    for turn in range(2):
        mpi.compute(comm, 3e-6 * (comm.rank == turn))
        allreduce(group, x, op=op, algorithm=algorithm)
        ends.append((mpi.wtime(comm), random.random()))
    return x.tolist(), ends


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
@pytest.mark.parametrize("algorithm", IN_TURN)
def test_all_is_as_if_the_rank_were_woken(algorithm, ranks, network):
    for options in ({}, {"buffered": True}, {"overhead": 1e-6}, {"sharing": "fair"}):
        asleep, awake = (
            launch(reduce, ranks, wrap, algorithm, 10, network=network, **options)
            for wrap in (lambda comm: comm, Awake)
        )
        assert asleep.results == awake.results and asleep.seconds == awake.seconds, options
        assert asleep.calls == awake.calls and asleep.messages == awake.messages
        assert sorted(asleep.timeline) == sorted(awake.timeline)


def test_the_rank_sleeps_until_the_last(monkeypatch):
    woken, resume = [], InTurn.resume
    monkeypatch.setattr(InTurn, "resume", lambda self, time: woken.append(resume(self, time)) or woken[-1])
    launch(reduce, 8, lambda comm: comm, "ring", 64)
    assert len(woken) == 8 * 2 * 14 and sum(rank is not None for rank in woken) == 8 * 2


def test_operations_of_the_program_run_in_the_threads_of_their_ranks(monkeypatch):
    monkeypatch.setattr(InTurn, "resume", lambda self, time: pytest.fail("another thread may call it"))
    results = launch(reduce, 4, lambda comm: comm, "ring", 8, lambda a, b: a + b).results
    assert results[0][0] == results[3][0]


def report(program, *arguments) -> str:
    with pytest.raises(LaunchError) as found:
        launch(program, 4, *arguments)
    return str(found.value)


def test_reports_are_the_same():
    def absent(comm, wrap):
        if comm.rank != 2:
            reduce(comm, wrap, "ring", 8)

    def longer(comm, wrap):
        reduce(comm, wrap, "ring", 8 + 4 * (comm.rank == 2))

    def raises(comm, wrap):
        allreduce(wrap(comm), np.ones((2, 2))[:, 0] if comm.rank == 1 else np.ones(2), algorithm="ring")

    for program in (absent, longer, raises):
        assert report(program, lambda comm: comm) == report(program, Awake), program.__name__
    assert "Sendrecv(dest=0" in report(absent, lambda comm: comm)


def test_what_goes_wrong_between_two_exchanges_is_raised_in_the_rank():
    def program(comm):
        with np.errstate(over="raise" if comm.rank == 1 else "ignore"):  # another one than in the thread that goes on
            x = np.full(64, np.finfo(np.float64).max)
            allreduce(comm, x, algorithm="ring")

    with pytest.raises(RankFailed) as found:
        launch(program, 4)
    assert set(found.value.errors) == {1} and isinstance(found.value.errors[1], FloatingPointError)


def test_a_communicator_that_has_been_freed_refuses():
    def program(comm):
        other = comm.Dup()
        other.Free()
        with pytest.raises(mpi.Exception):
            other.exchange_in_turn(iter([]), 0)

    launch(program, 2)
