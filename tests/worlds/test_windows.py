"""One-sided communication: the same memory in both worlds, and a clock that only the origin's side pays for."""

import numpy as np
import pytest

from reference import mpi
from reference.worlds import Deadlock, launch, networks

RANKS = (1, 2, 3, 5)


def window_of(comm, n):
    """A window of n float64 on every rank, filled with the rank's number, and this rank's array in it."""
    window = mpi.win_allocate(comm, 8 * n, disp_unit=8)
    mine = np.frombuffer(window.tomemory(), np.float64)
    mine[:] = comm.rank
    comm.Barrier()
    return window, mine


def puts_to_the_right(comm):
    window, mine = window_of(comm, 4)
    window.Fence()
    window.Put(np.full(2, 10.0 + comm.rank), (comm.rank + 1) % comm.size, 1)
    window.Fence()
    seen = mine.tolist()
    window.Free()
    left = (comm.rank - 1) % comm.size
    return seen == [comm.rank, 10 + left, 10 + left, comm.rank]


def gets_from_every_rank(comm):
    window, _ = window_of(comm, 3)
    window.Lock_all()
    got = np.empty((comm.size, 2))
    for rank in range(comm.size):
        window.Get(got[rank], rank, 1)
        window.Flush(rank)
    window.Unlock_all()
    comm.Barrier()
    window.Free()
    return got.tolist() == [[rank, rank] for rank in range(comm.size)]


def accumulates_without_losing_any(comm):
    window, mine = window_of(comm, 1)
    mine[:] = 0.0
    comm.Barrier()
    for _ in range(10):
        window.Lock(0)
        window.Accumulate(np.ones(1), 0)
        window.Unlock(0)
    comm.Barrier()
    total = mine[0]
    comm.Barrier()
    window.Free()
    return total == (10 * comm.size if comm.rank == 0 else 0)


def the_largest_wins(comm):
    window, mine = window_of(comm, 1)
    window.Fence()
    window.Accumulate(np.array([float(comm.rank)]), 0, op=mpi.MAX)
    window.Fence()
    best = mine[0]
    window.Free()
    return best == (comm.size - 1 if comm.rank == 0 else comm.rank)


@pytest.mark.parametrize("program", [puts_to_the_right, gets_from_every_rank, accumulates_without_losing_any])
@pytest.mark.parametrize("ranks", RANKS)
def test_memory_is_that_of_mpi(program, ranks, world):
    assert launch(program, ranks, world=world).results == [True] * ranks


def test_other_operations(world):
    assert launch(the_largest_wins, 3, world=world).results == [True] * 3


def test_the_target_takes_no_part_and_two_origins_queue_at_its_port():
    def program(comm):
        window = mpi.win_allocate(comm, 8000)
        if comm.rank:
            window.Put(np.ones(1000), 0)
            window.Flush(0)
        return mpi.wtime(comm)

    run = launch(program, 3, network=networks.uniform(alpha=1e-6, beta=1e-9))
    assert run.results == pytest.approx([0.0, 9e-6, 18e-6])
    assert run.bytes_sent == [0, 8000, 8000]


def test_an_exclusive_lock_is_held_by_one_at_a_time():
    def program(comm):
        window = mpi.win_allocate(comm, 8)
        window.Lock(0)
        mpi.compute(comm, 1.0)
        window.Unlock(0)
        return mpi.wtime(comm)

    assert launch(program, 3).results == pytest.approx([1.0, 2.0, 3.0])


def test_a_lock_that_is_never_given_back_is_a_deadlock():
    def program(comm):
        mpi.win_allocate(comm, 8).Lock(0)

    with pytest.raises(Deadlock, match="Lock"):
        launch(program, 2)


@pytest.mark.parametrize(
    "wrong", [lambda w: w.Put(np.ones(2), 0), lambda w: w.Get(np.ones(1), 7), lambda w: w.Put(np.ones(1), 0, -1)]
)
def test_what_lies_outside_is_refused(wrong):
    def program(comm):
        window = mpi.win_allocate(comm, 8, disp_unit=8)
        with pytest.raises(mpi.Exception):
            wrong(window)
        return True

    assert launch(program, 2).results == [True, True]
