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


def test_two_puts_to_one_place_in_one_epoch_are_not_seen():
    """A mistake that ends no launch: which of the two stays is undefined in MPI."""

    def program(comm):
        window, mine = window_of(comm, 1)
        window.Fence()
        window.Put(np.full(1, 10.0 + comm.rank), 0)
        window.Fence()
        seen = mine[0]
        window.Free()
        return seen

    assert launch(program, 2).results[0] in (10.0, 11.0)


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


def counts_together(comm):
    """Everybody draws three numbers from one counter: each number once, and the counter ends where it should."""
    window, mine = window_of(comm, 2)
    mine[:] = 0.0
    comm.Barrier()
    window.Lock_all()
    drawn, now = [], np.empty(1)
    for _ in range(3):
        window.Fetch_and_op(np.ones(1), now, 0, 1)
        window.Flush(0)
        drawn.append(now[0])
    comm.Barrier()
    window.Fetch_and_op(np.ones(1), now, 0, 1, op=mpi.NO_OP)
    window.Flush_all()
    window.Unlock_all()
    together = sorted(number for numbers in comm.allgather(drawn) for number in numbers)
    window.Free()
    return together == list(range(3 * comm.size)) and now[0] == 3 * comm.size


def the_first_takes_it(comm):
    """A lock made of Compare_and_swap: from 0 to one's own number plus 1; one rank gets it, all see whose it is."""
    window = mpi.win_allocate(comm, 8, disp_unit=8)
    window.Lock_all()
    mine, free, found = np.array([comm.rank + 1]), np.array([0]), np.empty(1, np.int64)
    window.Compare_and_swap(mine, free, found, 0)
    window.Flush(0)
    comm.Barrier()
    owner = np.empty(1, np.int64)
    window.Get(owner, 0)
    window.Unlock_all()
    winners = comm.allgather(bool(found[0] == 0))
    comm.Barrier()
    window.Free()
    return sum(winners) == 1 and winners[owner[0] - 1] and found[0] in (0, owner[0])


def exchanges_whole_vectors(comm):
    """Get_accumulate gives the old values and leaves new ones; with REPLACE it is an exchange."""
    window, mine = window_of(comm, 3)
    right, old, older = (comm.rank + 1) % comm.size, np.empty(2), np.empty(2)
    window.Fence()
    window.Get_accumulate(np.array([0.5, 0.25]), old, right, 1)
    window.Fence()
    window.Get_accumulate(np.full(2, -1.0), older, right, 1, op=mpi.REPLACE)
    window.Fence()
    seen = mine.tolist()
    window.Free()
    return old.tolist() == [right] * 2 and older.tolist() == [right + 0.5, right + 0.25] and seen == [comm.rank, -1, -1]


def shares_memory(comm):
    """Rank 0 has the memory, everybody stores into it without a call, and sees what the others have stored."""
    window = mpi.win_allocate_shared(comm, 8 * comm.size if comm.rank == 0 else 0, disp_unit=8)
    memory, unit = window.Shared_query(0)
    everybody = np.frombuffer(memory, np.float64)
    window.Lock_all()
    everybody[comm.rank] = comm.rank + 1.0
    window.Sync()
    comm.Barrier()
    window.Sync()
    seen = everybody.tolist()
    window.Unlock_all()
    comm.Barrier()
    window.Free()
    return seen == [rank + 1.0 for rank in range(comm.size)] and unit == 8


def shares_tensors(comm):
    """Each rank's part as a torch tensor; in-place operations on it are seen by all."""
    import torch

    window = mpi.win_allocate_shared(comm, 16, disp_unit=4)
    parts = [torch.frombuffer(window.Shared_query(rank)[0], dtype=torch.float32) for rank in range(comm.size)]
    window.Lock_all()
    parts[(comm.rank + 1) % comm.size].add_(comm.rank)
    window.Sync()
    comm.Barrier()
    window.Sync()
    seen = [part.tolist() for part in parts]
    window.Unlock_all()
    comm.Barrier()
    window.Free()
    return seen == [[(rank - 1) % comm.size] * 4 for rank in range(comm.size)]


PROGRAMS = [puts_to_the_right, gets_from_every_rank, accumulates_without_losing_any]
PROGRAMS += [counts_together, the_first_takes_it, exchanges_whole_vectors, shares_memory]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ranks", RANKS)
def test_memory_is_that_of_mpi(program, ranks, world):
    assert launch(program, ranks, world=world).results == [True] * ranks


def test_shared_memory_of_tensors(world):
    assert launch(shares_tensors, 3, world=world).results == [True] * 3


def test_other_operations(world):
    assert launch(the_largest_wins, 3, world=world).results == [True] * 3


def test_the_target_takes_no_part_and_two_origins_queue_at_its_port():
    def program(comm):
        window = mpi.win_allocate(comm, 8000)
        window.Lock_all()
        if comm.rank:
            window.Put(np.ones(1000), 0)
            window.Flush(0)
        window.Unlock_all()
        return mpi.wtime(comm)

    run = launch(program, 3, network=networks.uniform(alpha=1e-6, beta=1e-9, gap=1e-7))
    assert run.results == pytest.approx([0.0, 9e-6, 17.1e-6])
    assert run.bytes_sent == [0, 8000, 8000]


def test_what_brings_something_back_goes_there_and_back():
    """Hand-worked: alpha + 8 beta there and the same back, 2 words there for a comparison; only back with NO_OP."""

    def program(comm):
        window, result = mpi.win_allocate(comm, 8), np.zeros(1, np.int64)
        window.Lock_all()
        times = []
        if comm.rank:
            one = np.ones(1, np.int64)
            window.Fetch_and_op(one, result, 0)
            window.Flush(0)
            times.append(mpi.wtime(comm))
            window.Compare_and_swap(one, one, result, 0)
            window.Flush(0)
            times.append(mpi.wtime(comm))
            window.Fetch_and_op(one, result, 0, op=mpi.NO_OP)
            window.Flush(0)
            times.append(mpi.wtime(comm))
        window.Unlock_all()
        return times

    run = launch(program, 2, network=networks.uniform(alpha=1.0, beta=0.125))
    assert run.results == [[], [4.0, 9.0, 11.0]]
    assert run.bytes_sent == [24, 24]


def test_with_sync_loads_and_stores_happen_in_the_order_of_virtual_time():
    """Rank r adds its number every r + 1 seconds; rank 0 looks every second. Without Sync it sees none of the others
    before it is through, for virtual ranks run one after the other until they have to wait."""

    def program(comm, sync):
        window = mpi.win_allocate_shared(comm, 8 if comm.rank == 0 else 0)
        total = np.frombuffer(window.Shared_query(0)[0], np.float64)
        window.Lock_all()
        seen = []
        for _ in range(6 // (comm.rank + 1)):
            mpi.compute(comm, comm.rank + 1 - 1e-3 * comm.rank)
            if sync:
                window.Sync()
            total += comm.rank
            seen.append(total[0])
        window.Unlock_all()
        return seen

    assert launch(program, 3, True).results[0] == [0, 1, 3, 4, 4 + 0, 4 + 1 + 2]
    assert launch(program, 3, False).results[0] == [0] * 6


def test_shared_parts_lie_one_after_the_other_and_the_first_that_is_not_empty_is_found():
    def program(comm):
        window = mpi.win_allocate_shared(comm, 8 * comm.rank)
        sizes = [len(window.Shared_query(rank)[0]) for rank in range(comm.size)]
        first = window.Shared_query(mpi.PROC_NULL)[0]
        with pytest.raises(mpi.Exception):
            window.Shared_query(comm.size)
        return sizes, len(first), len(window.tomemory())

    assert launch(program, 3).results == [([0, 8, 16], 8, 8 * rank) for rank in range(3)]


def test_memory_is_shared_by_the_ranks_of_one_machine_only():
    def program(comm):
        with pytest.raises(mpi.Exception) as refused:
            mpi.win_allocate_shared(comm, 8)
        node = comm.Split_type(mpi.COMM_TYPE_SHARED)
        return refused.value.Get_error_class() == mpi.ERR_RMA_SHARED, len(mpi.win_allocate_shared(node, 8).tomemory())

    assert launch(program, 4, network=networks.two_level(2)).results == [(True, 8)] * 4


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


ONE, TWO, REAL, HERE = np.ones(1, np.int64), np.ones(2, np.int64), np.ones(1), np.empty(1, np.int64)
OUTSIDE = [lambda w: w.Put(TWO, 0), lambda w: w.Get(HERE, 7), lambda w: w.Put(ONE, 0, -1)]
OUTSIDE += [lambda w: w.Fetch_and_op(ONE, HERE, 0, 1), lambda w: w.Compare_and_swap(ONE, ONE, HERE, 7)]


@pytest.mark.parametrize("wrong", OUTSIDE)
def test_what_lies_outside_is_refused(wrong):
    def program(comm):
        window = mpi.win_allocate(comm, 8, disp_unit=8)
        with pytest.raises(mpi.Exception):
            wrong(window)
        return True

    assert launch(program, 2).results == [True, True]


def refusals(comm):
    """The class of what each of these raises."""
    window = mpi.win_allocate(comm, 8, disp_unit=8)
    window.Lock_all()
    one, two, real, here = ONE.copy(), TWO.copy(), REAL.copy(), HERE.copy()
    wrong = {
        "two elements": lambda: window.Fetch_and_op(two, two, 0),
        "another type": lambda: window.Fetch_and_op(one, real, 0),
        "nobody": lambda: window.Fetch_and_op(one, here, comm.size),
        "compared with another type": lambda: window.Compare_and_swap(one, real, here, 0),
        "a comparison of floats": lambda: window.Compare_and_swap(real, real, real, 0),
    }
    raised = {}
    for what, call in wrong.items():
        try:
            call()
        except mpi.Exception as error:
            raised[what] = error.Get_error_class()
        except ValueError as error:
            raised[what] = str(error)
    window.Unlock_all()
    window.Free()
    return raised


@pytest.mark.mpi
def test_both_worlds_refuse_the_same():
    virtual, real = (launch(refusals, 2, world=world).results for world in ("virtual", "mpi"))
    assert virtual == real and len(real[0]) == 5
