"""Point to point, as chapter 3 of MPI 4.1 has it. No program here relies on a Send being buffered."""

import numpy as np
import pytest

from reference import mpi
from tests.worlds.conformance import RANKS, Legal, row

legal = Legal()
SEVERAL = RANKS[1:]
SENDS = ["Send", "Ssend", "Isend", "Issend", "Sendrecv"]
RECVS = ["Recv", "Irecv", "Test", "Probe", "Iprobe", "Sendrecv"]


def send(comm, how, buffer, dest, tag=0):
    """Send with the call `how` and complete it."""
    if how == "Sendrecv":
        comm.Sendrecv(buffer, dest, tag, np.empty(0), mpi.PROC_NULL)
    elif how.startswith("I"):
        getattr(comm, how)(buffer, dest, tag).Wait()
    else:
        getattr(comm, how)(buffer, dest, tag)


def receive(comm, how, buffer, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG):
    """Receive with the call `how`; return (source, tag, bytes) as the status has them."""
    status = mpi.Status()
    if how == "Sendrecv":
        comm.Sendrecv(np.empty(0), mpi.PROC_NULL, 0, buffer, source, tag, status)
    elif how in ("Irecv", "Test"):
        request = comm.Irecv(buffer, source, tag)
        while how == "Test" and not request.Test(status):
            pass
        if how == "Irecv":
            request.Wait(status)
    else:
        if how == "Probe":
            comm.Probe(source, tag, status)
        while how == "Iprobe" and not comm.Iprobe(source, tag, status):
            pass
        comm.Recv(buffer, source, tag, status)
    return status.source, status.tag, status.count


@legal(lambda rank, size, how: [(row(k, k * k), (rank - 1, k, 16)) for k in range(6)] if rank else [], how=SENDS)
def every_receive_understands(comm, how):
    """A message goes down the line of ranks, once for each way to receive."""
    seen = []
    for tag, receiving in enumerate(RECVS):
        message = row(tag, tag * tag)
        if comm.rank:
            message = np.zeros(2)
            seen.append((message, receive(comm, receiving, message, comm.rank - 1, tag)))
        if comm.rank + 1 < comm.size:
            send(comm, how, message, comm.rank + 1, tag)
    return seen


@legal(lambda rank, size: [(row((rank - d) % size), (rank - d) % size, d, 1) for d in range(size)])
def sendrecv_shifts_by_every_distance(comm):
    """Sendrecv round the ring, to oneself (distance 0) too."""
    seen, status = [], mpi.Status()
    for d in range(comm.size):
        got, left = np.empty(1), (comm.rank - d) % comm.size
        comm.Sendrecv(row(comm.rank), (comm.rank + d) % comm.size, d, got, left, d, status)
        seen.append((got, status.source, status.tag, status.Get_count(mpi.DOUBLE)))
    return seen


@legal(lambda rank, size: (row(0, 1, 2), row(*range(9, 7 - rank, -1)), 8 * (2 + rank)))
def sendrecv_sides_differ_in_length_and_type(comm):
    """Each rank sends 3 ints to itself under tag 1 and 2 + rank doubles under tag 2."""
    ints, doubles, status = np.zeros(3, "i4"), np.zeros(2 + comm.rank), mpi.Status()
    first = comm.Irecv(ints, comm.rank, 1)
    second = comm.Isend(row(*range(9, 7 - comm.rank, -1)), comm.rank, 2)
    comm.Sendrecv(np.arange(3, dtype="i4"), comm.rank, 1, doubles, comm.rank, 2, status)
    mpi.waitall([first, second])
    return ints.astype(float), doubles, status.count


@legal(lambda rank, size, how: list(range(20)) if rank else [], ranks=SEVERAL, how=SENDS)
def messages_do_not_overtake(comm, how):
    """Same source, communicator and tag: they are received in the order in which they were sent."""
    got = np.zeros(1, "i8")
    if comm.rank:
        return [receive(comm, RECVS[i % 6], got, 0, 5) and int(got[0]) for i in range(20)]
    for i in range(20):
        for dest in range(1, comm.size):
            send(comm, how, row(i, dtype="i8"), dest, 5)
    return []


@legal(lambda rank, size: [1, 3, 0, 2])
def a_tag_picks_its_message(comm):
    """Messages of tags 1, 2, 1, 2 to oneself, received by tag 2 first: order holds within a tag only."""
    sent = [comm.Isend(row(i), comm.rank, 1 + i % 2) for i in range(4)]
    got = [np.zeros(1) for _ in range(4)]
    for buffer, tag in zip(got, (2, 2, 1, 1), strict=True):
        comm.Recv(buffer, comm.rank, tag)
    mpi.waitall(sent)
    return [int(buffer[0]) for buffer in got]


@legal(lambda rank, size: [0, 1, 2, 3])
def receives_match_in_the_order_in_which_they_were_posted(comm):
    """Of two receives that fit a message the one posted first gets it, however general it is."""
    tags = [mpi.ANY_TAG, 5, mpi.ANY_TAG, 6]
    sources = [comm.rank, mpi.ANY_SOURCE, mpi.ANY_SOURCE, comm.rank]
    got = [np.zeros(1) for _ in tags]
    posted = [comm.Irecv(*where) for where in zip(got, sources, tags, strict=True)]
    for i, tag in enumerate((5, 5, 7, 6)):
        comm.Isend(row(i), comm.rank, tag).Wait()
    mpi.waitall(posted)
    return [int(buffer[0]) for buffer in got]


@legal(lambda rank, size: (1, 0))
def an_earlier_receive_waits_for_its_tag(comm):
    """Receives for tags 7 and ANY are posted; a message of tag 5 passes the first and takes the second."""
    got = [np.zeros(1), np.zeros(1)]
    posted = [comm.Irecv(got[0], comm.rank, 7), comm.Irecv(got[1], comm.rank, mpi.ANY_TAG)]
    sent = [comm.Isend(row(0), comm.rank, 5), comm.Isend(row(1), comm.rank, 7)]
    mpi.waitall(posted + sent)
    return int(got[0][0]), int(got[1][0])


def from_all(size, messages):
    """What rank 0 may see of `messages` messages from each other rank: per source, in order."""
    return [[(source, 10 + source, source * 100 + i) for i in range(messages)] for source in range(1, size)]


@legal(lambda rank, size, how: [] if rank else from_all(size, 3), ranks=SEVERAL, how=RECVS)
def any_source_any_tag(comm, how):
    """Wildcards may take the sources in any order, but each source's messages in theirs; the status tells whose."""
    if comm.rank:
        for i in range(3):
            comm.Send(row(100 * comm.rank + i), 0, 10 + comm.rank)
        return []
    seen, got = [], np.zeros(1)
    for _ in range(3 * (comm.size - 1)):
        source, tag, _ = receive(comm, "Recv" if "robe" in how else how, got)
        seen.append((source, tag, int(got[0])))
    return [[message for message in seen if message[0] == source] for source in range(1, comm.size)]


@legal(lambda rank, size: [] if rank else [(s, s + 1) for s in range(1, size)], ranks=SEVERAL)
def probe_any_source_then_receive_that_one(comm):
    """Probe tells source and length; the receive that follows takes exactly that message."""
    if comm.rank:
        comm.Send(np.full(comm.rank + 1, comm.rank, "i2"), 0, comm.rank)
        return []
    seen, status = [], mpi.Status()
    for _ in range(comm.size - 1):
        assert comm.Probe(mpi.ANY_SOURCE, mpi.ANY_TAG, status) is True
        got = np.zeros(status.count // 2, "i2")
        comm.Recv(got, status.source, status.tag)
        assert (got == status.source).all()
        seen.append((status.source, len(got)))
    return sorted(seen)


@legal(lambda rank, size: (False, True, True))
def iprobe_sees_only_what_fits(comm):
    """Iprobe is False for a tag nobody sends, becomes True for one that is there, and takes nothing away."""
    request = comm.Isend(row(1), comm.rank, 3)
    while not comm.Iprobe(comm.rank, 3):
        pass
    seen = comm.Iprobe(comm.rank, 4), comm.Iprobe(comm.rank, mpi.ANY_TAG), comm.Iprobe(mpi.ANY_SOURCE, 3)
    comm.Recv(np.zeros(1), comm.rank, 3)
    request.Wait()
    return seen


@legal(lambda rank, size: (rank, size, rank, size))
def who_am_i(comm):
    return comm.rank, comm.size, comm.Get_rank(), comm.Get_size()


@legal(lambda rank, size: [(0, 0, True), (0, 2, True)])
def empty_messages_are_messages(comm):
    """A zero count is received like any other and leaves the buffer as it was."""
    seen, status = [], mpi.Status()
    for buffer in (np.empty(0), np.ones((2, 0, 3))):
        got = np.full(3, 7.0)
        comm.Sendrecv(buffer, comm.rank, buffer.ndim // 3 * 2, got, comm.rank, mpi.ANY_TAG, status)
        seen.append((status.count, status.tag, bool((got == 7).all())))
    return seen


@legal(lambda rank, size: [(mpi.PROC_NULL, mpi.ANY_TAG, 0)] * 5 + [True, True, row(7, 7)])
def proc_null_is_nobody(comm):
    """Sends vanish, receives return at once with source PROC_NULL, tag ANY_TAG, count 0 and an untouched buffer."""
    null, got = mpi.PROC_NULL, row(7, 7)
    for how in SENDS[:4]:
        send(comm, how, row(1, 2), null, 3)
    seen = [receive(comm, how, got, null, 3) for how in ("Recv", "Irecv", "Test", "Probe", "Sendrecv")]
    return [*seen, comm.Iprobe(null, 3), comm.Probe(null, 3), got]


@legal(lambda rank, size: row(max(rank - 1, -1)))
def a_line_shift_ends_at_proc_null(comm):
    """Sendrecv with PROC_NULL at both ends shifts along a line; the first rank keeps what it had."""
    got = row(-1)
    right = comm.rank + 1 if comm.rank + 1 < comm.size else mpi.PROC_NULL
    left = comm.rank - 1 if comm.rank else mpi.PROC_NULL
    comm.Sendrecv(row(comm.rank), right, 0, got, left, 0)
    return got


@legal(lambda rank, size: (row(0, 3, 1, 4, 2, 5).reshape(2, 3), row(0, 2, 4, 1, 3, 5), np.arange(6.0).reshape(2, 3).T))
def arrays_travel_in_memory_order(comm):
    """Contiguous in C or Fortran order, any shape: what travels is the memory, from first to last element."""
    c, f = np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    into_c, flat, into_f = np.zeros((2, 3)), np.zeros(6), np.zeros((3, 2), order="F")
    for buffer, got in ((f, into_c), (np.asfortranarray(np.arange(6.0).reshape(3, 2)), flat), (c, into_f)):
        comm.Sendrecv(buffer, comm.rank, 0, got, comm.rank, 0)
    return into_c, flat, into_f


@legal(lambda rank, size: (np.array(3.5), row(0, 4, 5, 0), bytearray(b"rank"), row(2, 3)))
def buffers_of_all_kinds(comm):
    """A 0-dimensional array, a contiguous slice, bytes, and a read-only array to send from."""

    def through(buffer, got, view=None):
        comm.Sendrecv(buffer, comm.rank, 0, got if view is None else got[view], comm.rank, 0)
        return got

    frozen = row(2, 3)
    frozen.setflags(write=False)
    middle = slice(1, 3)
    return (
        through(np.array(3.5), np.array(0.0)),
        through(np.arange(8.0)[4:6], np.zeros(4), middle),
        through(b"rank", bytearray(4)),
        through(frozen, np.zeros(2)),
    )


SPECS = {
    "[buf, count]": lambda x: [x, 2],
    "[buf, type]": lambda x: [x, mpi.DOUBLE],
    "[buf, count, type]": lambda x: [x, 2, mpi.DOUBLE],
    "(buf, count)": lambda x: (x, 2),
    "[buf, (count, displ), type]": lambda x: [x, (2, 1), mpi.DOUBLE],
    "[buf, count, displ, type]": lambda x: [x, 2, 1, mpi.DOUBLE],
    "[buf, 0, type]": lambda x: [x, 0, mpi.DOUBLE],
}
TAKEN = [row(0, 1), row(0, 1, 2, 3), row(0, 1), row(0, 1), row(1, 2), row(1, 2), row()]


@legal(lambda rank, size: TAKEN)
def buffer_specifications_of_a_send(comm):
    """mpi4py's ways to say how much of a buffer is meant."""
    seen, status = [], mpi.Status()
    for spec in SPECS.values():
        got = np.zeros(4)
        comm.Sendrecv(spec(np.arange(4.0)), comm.rank, 0, got, comm.rank, 0, status)
        seen.append(got[: status.Get_count(mpi.DOUBLE)])
    return seen


@legal(lambda rank, size: [row(7, 8, 0, 0)] * 4 + [row(0, 7, 8, 0)] * 2)
def buffer_specifications_of_a_receive(comm):
    seen = []
    for spec in list(SPECS.values())[:6]:
        got = np.zeros(4)
        comm.Sendrecv(row(7, 8), comm.rank, 0, spec(got), comm.rank, 0)
        seen.append(got)
    return seen


@legal(lambda rank, size: (row(1, 2, -1, -1), 2, 16, mpi.UNDEFINED), ranks=(1, 2))
def a_message_may_be_shorter_than_the_buffer(comm):
    """What lies behind the message stays; the status counts in elements of the type it is asked for."""
    got, status = np.full(4, -1.0), mpi.Status()
    comm.Sendrecv(row(1, 2), comm.rank, 0, got, comm.rank, 0, status)
    half = mpi.Status()
    comm.Sendrecv(row(1, dtype="f4"), comm.rank, 0, np.zeros(4, "f4"), comm.rank, 0, half)
    return got, status.Get_count(mpi.DOUBLE), status.count, half.Get_count(mpi.DOUBLE)


DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


@legal(lambda rank, size: [(np.arange(3).astype(d), 3 * np.dtype(d).itemsize) for d in DTYPES])
def every_dtype_travels(comm):
    seen = []
    for dtype in DTYPES:
        got = np.zeros(3, dtype)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        request = comm.Isend(np.arange(3).astype(dtype), right)
        seen.append((got, receive(comm, "Recv", got, left)[2]))
        request.Wait()
    return seen


@legal(lambda rank, size: [row(i) for i in range(4)])
def a_buffer_is_free_after_its_send(comm):
    """After Wait (or a blocking Send) the buffer may be written again; one buffer may be in several sends at once."""
    got, message = [np.zeros(1) for _ in range(4)], np.zeros(1)
    posted = [comm.Irecv(buffer, comm.rank, i) for i, buffer in enumerate(got)]
    for i in range(3):
        message[:] = i
        comm.Send(message, comm.rank, i) if i % 2 else comm.Isend(message, comm.rank, i).Wait()
    message[:] = 3
    twice = np.zeros(1)
    mpi.waitall([comm.Isend(message, comm.rank, 3), comm.Isend(message, comm.rank, 4), comm.Irecv(twice, comm.rank, 4)])
    mpi.waitall(posted)
    assert twice[0] == 3
    return got


@legal(lambda rank, size, order: [(s, s, 8 * (s + 1)) for s in range(size)], order=["forward", "backward", "odd first"])
def requests_complete_in_any_order(comm, order):
    """Every rank sends to every rank; the receives are waited for one by one, in some order."""
    got, status = [np.zeros(s + 1) for s in range(comm.size)], [mpi.Status() for _ in range(comm.size)]
    receives = [comm.Irecv(got[s], s, s) for s in range(comm.size)]
    sends = [comm.Isend(np.full(comm.rank + 1, comm.rank, float), d, comm.rank) for d in range(comm.size)]
    ranks = list(range(comm.size))
    for s in {"forward": ranks, "backward": ranks[::-1], "odd first": ranks[1::2] + ranks[::2]}[order]:
        receives[s].Wait(status[s])
    mpi.waitall(sends)
    assert all((buffer == s).all() for s, buffer in enumerate(got))
    return [(s.source, s.tag, s.count) for s in status]


@legal(lambda rank, size: [(s, 40 + s, 1) for s in range(size)])
def waitall_fills_a_list_of_statuses(comm):
    got = np.zeros((comm.size, 1))
    receives = [comm.Irecv(got[s], s) for s in range(comm.size)]
    sends = [comm.Isend(row(comm.rank), d, 40 + comm.rank) for d in range(comm.size)]
    statuses = [mpi.Status() for _ in receives]
    mpi.waitall(receives, statuses)
    mpi.waitall(sends)
    assert got[:, 0].tolist() == list(range(comm.size))
    return [(s.source, s.tag, s.Get_count(mpi.DOUBLE)) for s in statuses]


@legal(lambda rank, size: (list(range(size)), True))
def waitany_takes_each_request_once(comm):
    """Waitany returns the index of a completed request, its status, and UNDEFINED when none is left."""
    got, status, seen = np.zeros((comm.size, 1)), mpi.Status(), []
    receives = [comm.Irecv(got[s], s, 7) for s in range(comm.size)]
    sends = [comm.Isend(row(comm.rank), d, 7) for d in range(comm.size)]
    for _ in receives:
        index = mpi.waitany(receives, status)
        assert (status.source, status.tag, got[index, 0]) == (index, 7, index)
        seen.append(index)
    mpi.waitall(sends)
    return sorted(seen), mpi.waitany(receives) == mpi.waitany([]) == mpi.UNDEFINED


@legal(lambda rank, size: [(0, 30, row(30)), (0, 20, row(20)), (0, 10, row(10))] if rank else [], ranks=SEVERAL)
def waitany_returns_what_has_come(comm):
    """Rank 0 sends tags 30, 20, 10 one after another, each after an answer: Waitany sees them in that order."""
    tags = (30, 20, 10)
    if comm.rank == 0:
        for tag in tags:
            for dest in range(1, comm.size):
                comm.Send(row(tag), dest, tag)
                comm.Recv(np.empty(0), dest)
        return []
    got, status, seen = {tag: np.zeros(1) for tag in (10, 20, 30)}, mpi.Status(), []
    receives = [comm.Irecv(buffer, 0, tag) for tag, buffer in got.items()]
    for _ in tags:
        tag = list(got)[mpi.waitany(receives, status)]
        seen.append((status.source, status.tag, got[tag]))
        comm.Send(np.empty(0), 0)
    return seen


@legal(lambda rank, size: (False, True, True, 2.0) if rank == 0 else None, ranks=SEVERAL)
def a_test_tells_and_does_not_wait(comm):
    """Test is False before the message can have been sent; once true, it stays true, and Wait returns at once."""
    if comm.rank == 1:
        comm.Recv(np.empty(0), 0, 2)
        comm.Send(row(2), 0, 1)
    if comm.rank == 0:
        got = np.zeros(1)
        request = comm.Irecv(got, 1, 1)
        before = request.Test()
        comm.Send(np.empty(0), 1, 2)
        while not request.Test():
            pass
        return before, request.Test(), request.Wait(), got[0]


@legal(lambda rank, size: True, ranks=SEVERAL)
def a_synchronous_send_ends_when_its_receive_has_begun(comm):
    """Issend is not complete while the receiver has not yet posted: it posts after a message that is sent later."""
    if comm.rank > 1:
        return True
    if comm.rank == 1:
        comm.Recv(np.empty(0), 0, 2)
        comm.Recv(np.zeros(1), 0, 1)
        return True
    request = comm.Issend(row(1), 1, 1)
    early = request.Test()
    comm.Send(np.empty(0), 1, 2)
    request.Wait()
    return not early


@legal(lambda rank, size: (list(range(50)), [float(i) for i in range(50)]))
def many_messages_at_once(comm):
    """Fifty receives and fifty sends outstanding on a ring, of tags 0 to 49 and once more all of one tag."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    by_tag, in_order = np.zeros((50, 1)), np.zeros((50, 1))
    requests = [comm.Irecv(by_tag[i], left, i) for i in reversed(range(50))]
    requests += [comm.Irecv(in_order[i], left, 99) for i in range(50)]
    requests += [comm.Isend(row(i), right, i) for i in range(50)]
    requests += [comm.Isend(row(i), right, 99) for i in range(50)]
    mpi.waitall(requests)
    return by_tag[:, 0].astype(int).tolist(), in_order[:, 0].tolist()


@legal(lambda rank, size: [0, 32767])
def tags_reach_from_0_to_32767(comm):
    """Every MPI takes tags up to 32767 at least."""
    seen = []
    for tag in (0, 32767):
        request = comm.Isend(row(tag), comm.rank, tag)
        seen.append(receive(comm, "Recv", np.zeros(1), comm.rank)[1])
        request.Wait()
    return seen


@legal(lambda rank, size: float(sum(range(100_000)) * ((rank - 1) % size)))
def long_messages_arrive_whole(comm):
    """800 kB: beyond what any MPI sends eagerly."""
    got = np.zeros(100_000)
    comm.Sendrecv(np.arange(1e5) * comm.rank, (comm.rank + 1) % comm.size, 0, got, (comm.rank - 1) % comm.size, 0)
    return float(got.sum())


@legal(lambda rank, size: (True, mpi.UNDEFINED))
def nothing_to_wait_for(comm):
    mpi.waitall([])
    return comm.Isend(row(1), mpi.PROC_NULL).Wait(), mpi.waitany([])


@pytest.mark.parametrize("case, ranks", legal.params())
def test_point_to_point(case, ranks, world):
    case.check(ranks, world)
