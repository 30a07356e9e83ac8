"""Persistent and matched messages, groups, cancelling, ending a launch: alike in both worlds."""

import numpy as np
import pytest

from reference import mpi
from reference.worlds import errors, launch


def neighbours(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def persistent(comm):
    """The same message three times, with what is in the buffer each time; also a column, and to nobody."""
    right, left = neighbours(comm)
    x, y, seen = np.zeros((3, 2)), np.zeros(3), []
    column = mpi.DOUBLE.Create_vector(3, 1, 2).Commit()
    requests = [
        comm.Send_init([x, 1, column], right, 5),
        comm.Recv_init(y, left, 5),
        comm.Ssend_init(y, mpi.PROC_NULL),
    ]
    for turn in range(3):
        x[:, 0] = comm.rank + 10 * turn
        mpi.startall(requests)
        mpi.waitall(requests)
        seen.append(y.tolist())
    assert all(requests) and mpi.testall(requests)
    for request in requests:
        request.Free()
    assert not any(requests) and requests[0] == mpi.REQUEST_NULL
    with pytest.raises(mpi.Exception):
        requests[0].Start()
    return seen


def test_persistent_messages(world):
    for rank, seen in enumerate(launch(persistent, 3, world=world).results):
        assert seen == [[(rank - 1) % 3 + 10 * turn] * 3 for turn in range(3)]


def matched(comm):
    """What a matched probe has taken no other receive gets; buffers and objects, blocking or not, and nobody's."""
    right, left = neighbours(comm)
    sent = [comm.Isend(np.array([1.0]), right, 1), comm.Isend(np.array([2.0]), right, 1), comm.isend("three", right, 2)]
    status, got = mpi.Status(), np.zeros(2)
    first = comm.Mprobe(left, 1, status)
    comm.Recv(got[1:], left, 1)
    assert (status.Get_source(), status.Get_count(mpi.DOUBLE), bool(first)) == (left, 1, True)
    first.Irecv(got[:1]).Wait()
    while (third := comm.improbe(left, 2)) is None:
        pass
    third = third.recv()
    mpi.waitall(sent)
    assert not first and first == mpi.MESSAGE_NULL and comm.Improbe(left, 1) is None
    nobody = comm.Mprobe(mpi.PROC_NULL)
    assert nobody == mpi.MESSAGE_NO_PROC
    nobody.Recv(got, status)
    assert nobody == mpi.MESSAGE_NULL and status.Get_source() == mpi.PROC_NULL
    return got.tolist(), third


def test_matched_messages(world):
    assert launch(matched, 3, world=world).results == [([1, 2], "three")] * 3


def test_a_message_that_was_taken_and_never_received_is_told():
    def program(comm):
        request = comm.Isend(np.ones(1), comm.rank)
        comm.Mprobe()
        request.Cancel()

    with pytest.raises(
        errors.UnreceivedMessages, match="rank 0 sent 1 x f8 with tag 0 to rank 0, which never received"
    ):
        launch(program, 1)


def groups(comm):
    """Every second rank makes a communicator, without the others; all make one backwards."""
    even = comm.Get_group().Incl(range(0, comm.size, 2))
    names = [even.Get_size(), even.Get_rank(), even.Translate_ranks([0, even.size - 1], comm.Get_group())]
    total = None
    for tag in (0, 1, 0):
        if comm.rank % 2 == 0:
            few = comm.Create_group(even, tag)
            total = few.allreduce(comm.rank)
            assert few.Get_group().Compare(even) == mpi.IDENT
            few.Free()
    backwards = comm.Create(comm.Get_group().Incl(range(comm.size - 1, -1, -1)))
    assert comm.Compare(backwards) == (mpi.SIMILAR if comm.size > 1 else mpi.CONGRUENT)
    twin = comm.Clone()
    assert comm.Compare(twin) == mpi.CONGRUENT and comm.Compare(comm) == mpi.IDENT
    twin.Free()
    assert not twin and twin == mpi.COMM_NULL
    return names, total, backwards.rank


def test_groups(world):
    for ranks in (1, 4):
        for rank, (names, total, backwards) in enumerate(launch(groups, ranks, world=world).results):
            half = (ranks + 1) // 2
            assert names == [half, rank // 2 if rank % 2 == 0 else mpi.UNDEFINED, [0, 2 * (half - 1)]]
            assert total == (None if rank % 2 else sum(range(0, ranks, 2))) and backwards == ranks - 1 - rank


def cancelled(comm):
    right, left = neighbours(comm)
    status = mpi.Status()
    never = comm.Irecv(np.zeros(1), left, 7)
    never.Cancel()
    never.Wait(status)
    kept, got = comm.Irecv(np.zeros(1), left, 8), np.ones(1)
    comm.Isend(got, right, 8).Wait()
    while not kept.Get_status():
        pass
    kept.Cancel()
    after = mpi.Status()
    kept.Wait(after)
    return status.Is_cancelled(), after.Is_cancelled(), after.Get_elements(mpi.DOUBLE)


def test_a_receive_is_cancelled_unless_its_message_is_there(world):
    assert launch(cancelled, 2, world=world, timeout=20).results == [(True, False, 1)] * 2


def lists(comm):
    """Testing several requests; statuses that are lacking are added to a list, as mpi4py does."""
    right, left = neighbours(comm)
    got = np.zeros(2)
    receives = [comm.Irecv(got[:1], left, 1), comm.Irecv(got[1:], left, 2)]
    assert mpi.testall(receives) is False and mpi.testany(receives) == (mpi.UNDEFINED, False)
    comm.Barrier()
    sends = [comm.Isend(np.array([float(tag)]), right, tag) for tag in (2, 1)]
    statuses = []
    while not mpi.testall(receives, statuses):
        pass
    mpi.waitall(sends)
    assert mpi.testany(receives) == mpi.testany([]) == (mpi.UNDEFINED, True) and mpi.testall([])
    return got.tolist(), [status.tag for status in statuses[-2:]]


def test_lists_of_requests(world):
    assert launch(lists, 2, world=world).results == [([1, 2], [1, 2])] * 2


def test_abort_ends_the_launch_on_all_ranks(world, request):
    if world == "mpi":
        request.getfixturevalue("own_job")

    def program(comm):
        if comm.rank == 1:
            comm.Abort(3)
        comm.Recv(np.zeros(1), comm.rank)

    with pytest.raises(errors.ProgramAborted, match=r"rank 1 called Abort\(3\) on 'world'") as told:
        launch(program, 3, world=world)
    assert len(told.value.roll_call) == 3 and "Abort(errorcode=3)" in told.value.roll_call[1].call


def test_errors_are_exceptions(world):
    def program(comm):
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        return comm.Get_errhandler() == mpi.ERRORS_RETURN

    assert launch(program, 2, world=world).results == [True, True]


def test_an_irecv_has_room_for_so_many_bytes():
    """mpi4py's 32,768 unless told; more is an error there, too."""

    def program(comm, room):
        request = comm.irecv(room, comm.rank)
        comm.isend(bytes(40_000), comm.rank).wait()
        return len(request.wait())

    assert launch(program, 1, 1 << 16).results == launch(program, 1, 1 << 16, world="mpi").results == [40_000]
    assert launch(program, 1, bytearray(50_000)).results == [40_000]
    with pytest.raises(errors.Truncation, match=r"room for 32,768 bytes, not for 40,018.*irecv\(65536, source, tag\)"):
        launch(program, 1, None)


def test_null_handles_are_exceptions_before_mpi_has_started():
    for null in (mpi.COMM_NULL, mpi.REQUEST_NULL, mpi.MESSAGE_NO_PROC, mpi.GROUP_EMPTY):
        for name in ("Get_size", "Wait", "Recv", "Free"):
            if hasattr(type(null), name):
                with pytest.raises(mpi.Exception):
                    getattr(null, name)
    for ask in (
        lambda: mpi.DOUBLE.Pack_size(1, None),
        lambda: mpi.DOUBLE.envelope,
        lambda: mpi.datatype("INT_INT").size,
    ):
        with pytest.raises(NotImplementedError, match=r"Pack_size|envelope|INT_INT"):
            ask()
