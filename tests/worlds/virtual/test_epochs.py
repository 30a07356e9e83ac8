"""Epochs and locks of windows: who has access when, what is refused, and what is told of those who wait for ever."""

import itertools
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.worlds import BufferChanged, CollectiveMismatch, Deadlock, RequestsLeft, launch, networks

FREE = networks.uniform(alpha=0.0, beta=0.0)


def window_of(comm, n=1):
    """A window of n float64 zeros on every rank, and this rank's own."""
    window = mpi.win_allocate(comm, 8 * n, disp_unit=8)
    return window, np.frombuffer(window.tomemory(), np.float64)


# Who waits for whom ----------------------------------------------------------------------------------------------


def adds_while_another_changes(comm):
    """Rank 1 gets, thinks, and puts back one more, all alone; rank 2 wants to add 10 meanwhile."""
    window, mine = window_of(comm)
    if comm.rank == 1:
        y = np.empty(1)
        window.Lock(0)
        window.Get(y, 0)
        window.Flush(0)
        mpi.sleep(comm, 0.2)
        window.Put(y + 1, 0)
        window.Unlock(0)
    if comm.rank == 2:
        mpi.sleep(comm, 0.1)
        window.Lock_all()
        window.Accumulate(np.array([10.0]), 0)
        window.Unlock_all()
    comm.Barrier()
    total = mine[0]
    window.Free()
    return total


def test_a_shared_lock_waits_for_an_exclusive_one(world):
    assert launch(adds_while_another_changes, 3, world=world).results == [11, 0, 0]


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_reader_never_sees_half_of_an_exclusive_epoch(everywhere):
    """The writer puts the same number into two places, with a pause between, again and again."""

    def program(comm):
        window, _ = window_of(comm, 2)
        seen = []
        for turn in range(6):
            if comm.rank == 0:
                window.Lock(0)
                for place in (0, 1):
                    window.Put(np.array([turn + 1.0]), 0, place)
                    window.Flush(0)
                    mpi.sleep(comm, 1e-6)
                window.Unlock(0)
            else:
                pair = np.empty(2)
                window.Lock_all() if everywhere else window.Lock(0, mpi.LOCK_SHARED)
                window.Get(pair, 0)
                window.Unlock_all() if everywhere else window.Unlock(0)
                seen.append(tuple(pair))
                mpi.sleep(comm, 0.7e-6 * comm.rank)
        return seen

    results = launch(program, 4).results
    assert all(first == second for seen in results for first, second in seen)
    assert len({pair for seen in results for pair in seen}) > 3


def holds(comm, wants):
    """When each rank has the lock of rank 0's memory, which each holds for a second; it asks after `rank` ms."""
    window, _ = window_of(comm)
    mpi.sleep(comm, 1e-3 * comm.rank)
    window.Lock(0, wants[comm.rank])
    since = round(mpi.wtime(comm), 3)
    mpi.sleep(comm, 1.0)
    window.Unlock(0)
    return since


SHARED, ALONE = mpi.LOCK_SHARED, mpi.LOCK_EXCLUSIVE


@pytest.mark.parametrize(
    ("wants", "since"),
    [
        ([ALONE] * 4, [0, 1, 2, 3]),
        ([SHARED] * 4, [0, 0.001, 0.002, 0.003]),
        ([SHARED, SHARED, ALONE, SHARED], [0, 0.001, 1.001, 2.001]),  # the last does not overtake the third
        ([ALONE, SHARED, SHARED, ALONE], [0, 1, 1, 2]),
    ],
)
def test_locks_are_granted_in_the_order_of_the_clock(wants, since):
    assert launch(holds, 4, wants, network=FREE).results == since


def test_at_one_time_the_lowest_rank_comes_first():
    def program(comm):
        window, _ = window_of(comm)
        window.Lock(comm.size - 1)
        since = mpi.wtime(comm)
        mpi.compute(comm, 1.0)
        window.Unlock(comm.size - 1)
        return since

    assert launch(program, 3).results == [0.0, 1.0, 2.0]


def test_locks_of_several_targets_are_held_together():
    def program(comm):
        window, mine = window_of(comm)
        for target in range(comm.size):
            window.Lock(target, SHARED)
        for target in range(comm.size):
            window.Accumulate(np.ones(1), target)
        window.Flush_all()
        for target in reversed(range(comm.size)):
            window.Unlock(target)
        comm.Barrier()
        total = mine[0]
        window.Free()
        return total, mine[0]

    totals = np.array(launch(program, 3).results)
    assert totals[:, 0].tolist() == [3] * 3
    assert np.isnan(totals[:, 1]).all(), "whoever still reads the memory after Free must notice"


class Wish(NamedTuple):
    """A rank wants the memory of `target` (None: of all) `after` so many microseconds, and keeps it for `keep`."""

    target: int | None
    alone: bool
    after: int
    keep: int


WISHES = st.lists(
    st.lists(st.builds(Wish, st.sampled_from([0, 1, None]), st.booleans(), st.integers(0, 3), st.integers(0, 3))),
    min_size=2,
    max_size=5,
)


def epochs_of(comm, wishes):
    """(target, alone, asked, granted, returned, rank) of every lock that this rank has had."""
    window, _ = window_of(comm)
    had = []
    for target, alone, after, keep in wishes[comm.rank]:
        mpi.sleep(comm, after * 1e-6)
        asked = mpi.wtime(comm)
        window.Lock_all() if target is None else window.Lock(target, ALONE if alone else SHARED)
        granted = mpi.wtime(comm)
        mpi.sleep(comm, keep * 1e-6)
        window.Unlock_all() if target is None else window.Unlock(target)
        for one in range(comm.size) if target is None else [target]:
            had.append((one, alone and target is not None, asked, granted, mpi.wtime(comm), comm.rank))
    window.Free()
    return had


@given(WISHES)
def test_exclusive_epochs_meet_no_other_and_nobody_is_overtaken(wishes):
    run = launch(epochs_of, len(wishes), wishes, network=FREE)
    had = [epoch for epochs in run.results for epoch in epochs]
    for one, other in itertools.permutations(had, 2):
        (target, alone, asked, granted, returned, _), (its_target, its_alone, its_asked, its_granted, *_) = one, other
        if target == its_target and (alone or its_alone):
            assert not granted < its_granted < returned, "two at a time"
            assert not (asked < its_asked and its_granted < granted), "overtaken"
    again = launch(epochs_of, len(wishes), wishes, network=FREE)
    assert again.results == run.results


# What is refused ---------------------------------------------------------------------------------------------------

ONE = np.ones(1)


def both(*calls):
    def program(window):
        for call in calls:
            call(window)

    return program


LOCK, SHARE = (lambda w: w.Lock(0)), (lambda w: w.Lock(0, SHARED))
FENCE, PUT, LOCK_ALL = (lambda w: w.Fence()), (lambda w: w.Put(ONE, 0)), (lambda w: w.Lock_all())
SYNC, RANK = mpi.ERR_RMA_SYNC, mpi.ERR_RANK
WRONG = {
    "a Put outside of an epoch": (PUT, SYNC),
    "a Get outside of an epoch": (lambda w: w.Get(ONE.copy(), 0), SYNC),
    "an Accumulate outside of an epoch": (lambda w: w.Accumulate(ONE, 0), SYNC),
    "a Fetch_and_op outside of an epoch": (lambda w: w.Fetch_and_op(ONE, ONE.copy(), 0), SYNC),
    "an Rput outside of an epoch": (lambda w: w.Rput(ONE, 0), SYNC),
    "a Flush outside of an epoch": (lambda w: w.Flush(0), SYNC),
    "a Flush_all outside of an epoch": (lambda w: w.Flush_all(), SYNC),
    "a Sync outside of an epoch": (lambda w: w.Sync(), SYNC),
    "an Unlock without a Lock": (lambda w: w.Unlock(0), SYNC),
    "an Unlock_all without a Lock_all": (lambda w: w.Unlock_all(), SYNC),
    "a Lock of nobody": (lambda w: w.Lock(99), RANK),
    "an Unlock of nobody": (lambda w: w.Unlock(-5), RANK),
    "two Locks": (both(SHARE, SHARE), SYNC),
    "a Lock in Lock_all": (both(LOCK_ALL, SHARE), SYNC),
    "a Lock_all in a Lock": (both(SHARE, LOCK_ALL), SYNC),
    "an Unlock in Lock_all": (both(LOCK_ALL, lambda w: w.Unlock(0)), SYNC),
    "an Unlock_all in a Lock": (both(SHARE, lambda w: w.Unlock_all()), SYNC),
    "a Fence in a Lock": (both(SHARE, FENCE), SYNC),
    "a Fence in Lock_all": (both(LOCK_ALL, FENCE), SYNC),
    "a Lock between fences": (both(FENCE, PUT, SHARE), SYNC),
    "a Flush between fences": (both(FENCE, PUT, lambda w: w.Flush(0)), SYNC),
    "a Put after the last fence": (both(lambda w: w.Fence(mpi.MODE_NOSUCCEED), PUT), SYNC),
    "a Free in a Lock": (both(SHARE, lambda w: w.Free()), SYNC),
    "a Free between fences": (both(FENCE, PUT, lambda w: w.Free()), SYNC),
    "a Complete without a Start": (lambda w: w.Complete(), SYNC),
    "a Wait without a Post": (lambda w: w.Wait(), SYNC),
    "a Put to nobody": (both(FENCE, lambda w: w.Put(ONE, 99)), RANK),
    "a Put before the window": (both(FENCE, lambda w: w.Put(ONE, 0, -1)), mpi.ERR_DISP),
    "a negative count": (both(FENCE, lambda w: w.Put(ONE, 0, (0, -2))), mpi.ERR_COUNT),
    "an Accumulate of another type": (both(FENCE, lambda w: w.Accumulate(ONE, 0, (0, 2, mpi.FLOAT))), mpi.ERR_TYPE),
}
STRICTER = {  # MPICH lets these pass, or names another class
    "a Put to a rank that is not locked": (both(SHARE, lambda w: w.Put(ONE, 1)), SYNC),
    "a Flush of a rank that is not locked": (both(SHARE, lambda w: w.Flush(1)), SYNC),
    "a request between fences": (both(FENCE, lambda w: w.Rput(ONE, 0)), SYNC),
    "a Put to a rank that was not started": (both(lambda w: w.Start(mpi.GROUP_EMPTY), PUT), SYNC),
    "a Lock after Start": (both(lambda w: w.Start(mpi.GROUP_EMPTY), SHARE), SYNC),
    "a Fence after Post": (both(lambda w: w.Post(mpi.GROUP_EMPTY), FENCE), SYNC),
    "two Posts": (both(lambda w: w.Post(mpi.GROUP_EMPTY), lambda w: w.Post(mpi.GROUP_EMPTY)), SYNC),
    "another lock type": (lambda w: w.Lock(0, 77), mpi.ERR_LOCKTYPE),
    "an unknown assertion": (lambda w: w.Lock_all(1 << 20), mpi.ERR_ASSERT),
    "a fence's assertion for a lock": (lambda w: w.Lock(0, SHARED, mpi.MODE_NOSTORE), mpi.ERR_ASSERT),
    "a lock's assertion for a fence": (lambda w: w.Fence(mpi.MODE_NOCHECK), mpi.ERR_ASSERT),
    "nothing precedes": (both(FENCE, PUT, lambda w: w.Fence(mpi.MODE_NOPRECEDE)), mpi.ERR_ASSERT),
    "more than the target takes": (both(FENCE, lambda w: w.Put(np.ones(2), 0, (0, 1))), mpi.ERR_TRUNCATE),
    "more than the origin takes": (both(FENCE, lambda w: w.Get(ONE.copy(), 0, (0, 2))), mpi.ERR_TRUNCATE),
    "behind the window": (both(FENCE, lambda w: w.Put(ONE, 0, 7)), mpi.ERR_RMA_RANGE),
    "after Free": (both(lambda w: w.Free(), FENCE), mpi.ERR_WIN),
}


def refusals(comm, names):
    """The class of what every rank gets for each of these; then the epoch is ended in good order."""
    found = {}
    for name in names:
        window = mpi.win_allocate(comm, 16, disp_unit=8)
        try:
            (WRONG | STRICTER)[name][0](window)
        except mpi.Exception as error:
            found[name] = error.Get_error_class()
        ends = window.Unlock_all, partial(window.Unlock, 0), window.Complete, window.Wait, window.Fence, window.Free
        for end in ends:
            with suppress(mpi.Exception):
                end()
    return found


def test_what_breaks_a_rule_is_refused():
    wanted = {name: kind for name, (_, kind) in (WRONG | STRICTER).items()}
    assert launch(refusals, 2, list(wanted)).results == [wanted] * 2


@pytest.mark.mpi
def test_real_ranks_refuse_the_same():
    assert launch(refusals, 2, list(WRONG), world="mpi").results == [{n: kind for n, (_, kind) in WRONG.items()}] * 2


# What is legal -----------------------------------------------------------------------------------------------------


def every_legal_form(comm):
    """PROC_NULL, assertions, targets in all spellings, epochs of each kind one after the other, requests."""
    window, mine = window_of(comm, 4)
    peer, got = (comm.rank + 1) % comm.size, np.zeros(2)
    window.Fence(mpi.MODE_NOPRECEDE | mpi.MODE_NOSTORE)
    window.Put(np.full(2, 5.0), peer, (1, 2, mpi.DOUBLE))
    window.Put(np.full(1, 6.0), peer, [3])
    window.Put(None, mpi.PROC_NULL)
    window.Get(None, mpi.PROC_NULL, None)
    window.Fence(mpi.MODE_NOPUT | mpi.MODE_NOSUCCEED)
    seen = mine.tolist()
    window.Fence()
    window.Lock(peer, mpi.LOCK_SHARED, mpi.MODE_NOCHECK)  # no access since the fence, so its epoch never was
    window.Rget(got, peer, (1, 2)).Wait()
    request = window.Raccumulate(np.ones(1), peer, (0, 1, "d"))
    window.Flush_local(peer)
    request.Wait()
    window.Accumulate(np.ones(1), mpi.PROC_NULL)
    window.Flush(mpi.PROC_NULL)
    window.Unlock(peer)
    window.Lock(mpi.PROC_NULL)
    window.Unlock(mpi.PROC_NULL)
    window.Lock_all(mpi.MODE_NOCHECK)
    window.Rput(np.full(1, 7.0), peer, (2,)).Wait()
    old = np.empty(1)
    window.Flush_local_all()
    window.Rget_accumulate(np.full(1, 2.0), old, peer, 2, op=mpi.PROD).Wait()
    window.Unlock_all()
    comm.Barrier()
    window.Lock(comm.rank)
    last = mine.tolist()
    window.Unlock(comm.rank)
    window.Free()
    return seen, got.tolist(), last, old[0]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_legal_form(ranks, world):
    want = [0, 5, 5, 6], [5, 5], [1, 5, 14, 6], 7
    assert launch(every_legal_form, ranks, world=world).results == [want] * ranks


def outlives_its_communicator(comm):
    """MPI keeps what a window or a request needs when the communicator is freed."""
    twin = comm.Dup()
    window = mpi.win_allocate(twin, 8, disp_unit=8)
    mine, came = np.frombuffer(window.tomemory(), np.float64), np.empty(1)
    peer = (comm.rank + 1) % comm.size
    requests = [twin.Irecv(came), twin.Isend(np.ones(1), peer)]
    twin.Free()
    mpi.waitall(requests[1:])
    requests[0].Wait()
    window.Fence()
    window.Put(came * 3, peer)
    window.Fence()
    seen = mine[0]
    window.Free()
    return seen


def test_windows_and_requests_outlive_their_communicator(world):
    assert launch(outlives_its_communicator, 3, world=world).results == [3.0] * 3


def pairs_of_ranks(comm):
    """Rank 0 puts into the others' memory, whoever is ready; then they put into rank 0's."""
    window, mine = window_of(comm, comm.size)
    group = window.Get_group()
    others, first = group.Excl([0]), group.Incl([0])
    if comm.rank == 0:
        window.Start(others)
        for rank in range(1, comm.size):
            window.Put(np.full(1, 10.0 + rank), rank)
        window.Complete()
        window.Post(others, mpi.MODE_NOSTORE)
        while not window.Test():
            pass
    else:
        window.Post(first)
        window.Wait()
        window.Start(first)
        window.Accumulate(mine[:1] * 2, 0, comm.rank)
        window.Complete()
    window.Start(mpi.GROUP_EMPTY)
    window.Complete()
    window.Post(mpi.GROUP_EMPTY)
    window.Wait()
    seen = mine.tolist()
    window.Free()
    return seen


def test_pairs_of_ranks(world):
    want = [[0, 22, 24], [11, 0, 0], [12, 0, 0]]
    assert launch(pairs_of_ranks, 3, world=world).results == want


def test_start_waits_for_post_and_wait_for_complete():
    def program(comm):
        window, _ = window_of(comm)
        other = window.Get_group().Incl([1 - comm.rank])
        if comm.rank == 0:
            window.Start(other)
            began = mpi.wtime(comm)
            mpi.compute(comm, 2.0)
            window.Complete()
            return began
        mpi.compute(comm, 1.0)
        window.Post(other)
        window.Wait()
        return mpi.wtime(comm)

    assert launch(program, 2, network=FREE).results == [1.0, 3.0]


def test_a_start_without_a_post_is_a_deadlock():
    def program(comm):
        window, _ = window_of(comm)
        if comm.rank == 0:
            window.Start(window.Get_group().Incl([1]))

    with pytest.raises(Deadlock) as caught:
        launch(program, 2)
    assert caught.value.roll_call[0].call == "Start(group=[1])"


def test_what_is_lacking_says_so():
    def program(comm):
        window, _ = window_of(comm)
        with pytest.raises(NotImplementedError, match="Attach"):
            window.Attach(None)

    launch(program, 1)


# Buffers that are in use -------------------------------------------------------------------------------------------

EARLY = {
    "Put": lambda w, x, y: w.Put(x, 0),
    "Accumulate": lambda w, x, y: w.Accumulate(x, 0),
    "Get": lambda w, x, y: w.Get(x, 0),
    "Get_accumulate": lambda w, x, y: w.Get_accumulate(x, y, 0),
    "Fetch_and_op": lambda w, x, y: w.Fetch_and_op(y, x, 0),
    "Rput": lambda w, x, y: w.Rput(x, 0),
}


@pytest.mark.parametrize("end", ["Flush", "Flush_local", "Unlock"])
@pytest.mark.parametrize("name", EARLY)
def test_a_buffer_that_changes_too_early_is_told(name, end):
    def program(comm):
        window, _ = window_of(comm)
        x, y = np.zeros(1), np.ones(1)
        window.Lock(0)
        request = EARLY[name](window, x, y)
        x[0] = 7
        getattr(window, end)(0)
        return request

    with pytest.raises(BufferChanged, match=rf"rank 0 changed the buffer of {name}\(target_rank=0"):
        launch(program, 1)


def test_a_fence_looks_too():
    def program(comm):
        window, _ = window_of(comm)
        x = np.zeros(1)
        window.Fence()
        window.Put(x, 1 - comm.rank)
        x += 1
        window.Fence()

    with pytest.raises(BufferChanged, match="changed the buffer of Put"):
        launch(program, 2)


def test_what_is_put_is_what_was_there_at_the_call_and_what_is_read_comes_with_the_flush():
    def program(comm):
        window, mine = window_of(comm)
        mine[:] = 3
        got, x = np.zeros(1), np.ones(1)
        window.Lock_all()
        window.Get(got, 0)
        mpi.compute(comm, 1.0)
        early = got[0]
        window.Flush(0)
        window.Put(x, 0)
        window.Flush_local(0)
        x[:] = 9  # legal from here on
        window.Unlock_all()
        return early, got[0], mine[0]

    assert launch(program, 1).results == [(0, 3, 1)]


# What goes wrong ---------------------------------------------------------------------------------------------------


def test_ranks_that_lock_in_different_orders_are_told():
    def program(comm):
        window, _ = window_of(comm)
        window.Lock(comm.rank)
        mpi.compute(comm, 1.0)
        window.Lock(1 - comm.rank)

    with pytest.raises(Deadlock) as caught:
        launch(program, 2)
    assert "rank 0 waits in Lock(rank=1, LOCK_EXCLUSIVE)" in caught.value.cause
    assert "rank 1 has that lock since Lock(rank=1, LOCK_EXCLUSIVE)" in caught.value.cause
    assert "window.Lock(comm.rank)" in caught.value.cause and "different orders" in caught.value.cause
    assert [status.call for status in caught.value.roll_call] == [f"Lock(rank={r}, LOCK_EXCLUSIVE)" for r in (1, 0)]


@pytest.mark.parametrize("then", ["returned already", "waiting in Barrier"])
def test_a_lock_that_is_kept_is_told(then):
    def program(comm):
        window, _ = window_of(comm)
        if comm.rank == 0:
            window.Lock(2)
        else:
            mpi.sleep(comm, 1.0)
            window.Lock_all()
        if "Barrier" in then:
            comm.Barrier()

    with pytest.raises(Deadlock, match=rf"rank 1 waits in Lock_all.*rank 0 has that lock.*{then}"):
        launch(program, 3)


@pytest.mark.parametrize("used", [False, True])
def test_an_epoch_that_is_never_ended_is_told(used):
    def program(comm):
        window, _ = window_of(comm)
        window.Fence() if used else window.Lock_all()
        if used:
            window.Put(np.ones(1), 0)

    with pytest.raises(RequestsLeft, match="rank 0 never ended the epoch of " + ("Put" if used else "Lock_all")):
        launch(program, 2)


def test_assertions_of_a_fence_must_agree():
    def program(comm):
        window, _ = window_of(comm)
        window.Fence(mpi.MODE_NOSUCCEED if comm.rank else 0)

    with pytest.raises(CollectiveMismatch, match="Fence"):
        launch(program, 2)
