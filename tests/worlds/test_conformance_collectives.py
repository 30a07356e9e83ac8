"""Collective calls, as chapter 6 of MPI 4.1 has them: every root, blocking and nonblocking, in place and not."""

from functools import reduce

import numpy as np
import pytest

from reference import mpi
from tests.worlds.conformance import RANKS, Legal, row, split_sizes

legal = Legal()
FORMS = ["", "I"]


def do(comm, form, name):
    """The collective call `name`, blocking (form "") or begun and waited for (form "I")."""
    if form == "":
        return getattr(comm, name)
    return lambda *args, **kwargs: getattr(comm, "I" + name.lower())(*args, **kwargs).Wait()


def data(rank, n=3, dtype=float):
    """What rank contributes: whole numbers, all different, so that sums are exact and nothing can be mixed up."""
    return (np.arange(n) + 10 * rank + 1).astype(dtype)


def total(size, n=3, dtype=float):
    return sum(data(r, n, dtype) for r in range(size))


def all_data(size, n=3, dtype=float):
    return np.concatenate([data(r, n, dtype) for r in range(size)])


# One to all, all to one ------------------------------------------------------------------------------------------


@legal(lambda rank, size, form: [data(root) for root in range(size)], form=FORMS)
def bcast_from_every_root(comm, form):
    seen = []
    for root in range(comm.size):
        x = data(comm.rank)
        do(comm, form, "Bcast")(x, root=root)
        seen.append(x)
    return seen


@legal(lambda rank, size, form: [data(root) for root in range(size)], form=FORMS)
def bcast_between_shapes_and_specifications(comm, form):
    """The root may give another shape than the rest, and [buf, count, type]; only the element count must agree."""
    seen = []
    for root in range(comm.size):
        x = data(comm.rank)
        is_root = comm.rank == root
        do(comm, form, "Bcast")(x.reshape(3, 1) if is_root else [x, 3, mpi.DOUBLE], root)
        seen.append(x)
    return seen


@legal(lambda rank, size, form: [total(size) if rank == root else None for root in range(size)], form=FORMS)
def reduce_to_every_root(comm, form):
    """Only the root has a receive buffer; the send buffers stay as they were."""
    seen = []
    for root in range(comm.size):
        x, y = data(comm.rank), np.zeros(3) if comm.rank == root else None
        do(comm, form, "Reduce")(x, y, op=mpi.SUM, root=root)
        assert (x == data(comm.rank)).all()
        seen.append(y)
    return seen


@legal(lambda rank, size, form: [total(size) if rank == root else data(rank) for root in range(size)], form=FORMS)
def reduce_in_place_at_every_root(comm, form):
    seen = []
    for root in range(comm.size):
        x = data(comm.rank)
        do(comm, form, "Reduce")(*((mpi.IN_PLACE, x) if comm.rank == root else (x, None)), root=root)
        seen.append(x)
    return seen


@legal(lambda rank, size, form: [all_data(size) if rank == root else None for root in range(size)], form=FORMS)
def gather_to_every_root(comm, form):
    seen = []
    for root in range(comm.size):
        y = np.zeros(3 * comm.size) if comm.rank == root else None
        do(comm, form, "Gather")(data(comm.rank), y, root=root)
        seen.append(y)
    return seen


@legal(lambda rank, size, form: [all_data(size) if rank == root else None for root in range(size)], form=FORMS)
def gather_in_place_at_every_root(comm, form):
    """In place, the root's own part lies already where it belongs."""
    seen = []
    for root in range(comm.size):
        y = None
        if comm.rank == root:
            y = np.zeros(3 * comm.size)
            y[3 * root : 3 * root + 3] = data(root)
        do(comm, form, "Gather")(mpi.IN_PLACE if comm.rank == root else data(comm.rank), y, root=root)
        seen.append(y)
    return seen


@legal(lambda rank, size, form: [data(rank) + root for root in range(size)], form=FORMS)
def scatter_from_every_root(comm, form):
    seen = []
    for root in range(comm.size):
        x, y = all_data(comm.size) + root if comm.rank == root else None, np.zeros(3)
        do(comm, form, "Scatter")(x, y, root=root)
        seen.append(y)
    return seen


@legal(lambda rank, size, form: [-1 * data(rank) if rank == root else data(rank) for root in range(size)], form=FORMS)
def scatter_in_place_at_every_root(comm, form):
    """In place, the root's own part is not moved: its buffer stays as it was."""
    seen = []
    for root in range(comm.size):
        x, y = all_data(comm.size) if comm.rank == root else None, -1 * data(comm.rank)
        do(comm, form, "Scatter")(x, mpi.IN_PLACE if comm.rank == root else y, root=root)
        seen.append(y)
    return seen


# All to all ------------------------------------------------------------------------------------------------------


@legal(lambda rank, size, form: (total(size), total(size), data(rank)), form=FORMS)
def allreduce(comm, form):
    """With two buffers, and in place."""
    x, y, z = data(comm.rank), np.zeros(3), data(comm.rank)
    do(comm, form, "Allreduce")(x, y)
    do(comm, form, "Allreduce")(mpi.IN_PLACE, z, op=mpi.SUM)
    return y, z, x


@legal(lambda rank, size, form: (total(size, 6).reshape(2, 3), np.array(float(size)), row(0, *total(size))), form=FORMS)
def allreduce_takes_any_contiguous_buffer(comm, form):
    """Two dimensions, none, a slice, and [buf, count]."""
    y, one, part = np.zeros((2, 3)), np.array(1.0), np.zeros(4)
    do(comm, form, "Allreduce")(data(comm.rank, 6).reshape(2, 3), y)
    do(comm, form, "Allreduce")(mpi.IN_PLACE, one)
    do(comm, form, "Allreduce")([data(comm.rank, 9), 3], part[1:])
    return y, one, part


INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8".split()
FLOATS = "f2 f4 f8".split()
TYPES = {
    "SUM": (np.add, INTEGERS + FLOATS + ["c8", "c16"]),
    "PROD": (np.multiply, INTEGERS + FLOATS + ["c8", "c16"]),
    "MAX": (np.maximum, INTEGERS + FLOATS),
    "MIN": (np.minimum, INTEGERS + FLOATS),
    "LAND": (np.logical_and, [*INTEGERS, "?"]),
    "LOR": (np.logical_or, [*INTEGERS, "?"]),
    "BAND": (np.bitwise_and, INTEGERS),
    "BOR": (np.bitwise_or, INTEGERS),
}


def operand(rank, dtype):
    """Small numbers whose sum and product fit 8 bits: 1 or 2, 0 except on rank 0, 1 except on rank 1, varied bits."""
    return np.array([1 + rank % 2, 5 * (rank == 0), rank != 1, 6 >> rank % 3], complex).real.astype(dtype)


def reduced(size, op):
    function, dtypes = TYPES[op]
    return [reduce(function, [operand(r, dtype) for r in range(size)]).astype(dtype) for dtype in dtypes]


@legal(lambda rank, size, op: reduced(size, op), op=TYPES)
def every_operation_on_its_types(comm, op):
    """The table of section 6.9.2: which operation is defined for which types."""
    seen = []
    for dtype in TYPES[op][1]:
        y = np.zeros(4, dtype)
        comm.Allreduce(operand(comm.rank, dtype), y, getattr(mpi, op))
        seen.append(y)
    return seen


def folded(size, op):
    return reduce(TYPES[op][0], [data(r, size) for r in range(size)])


@legal(
    lambda rank, size, op, form: [folded(size, op)] * 2 + [folded(size, op)[[rank]]] * 2,
    op=["SUM", "PROD", "MAX", "MIN"],
    form=FORMS,
)
def every_reduction_minds_its_operation(comm, op, form):
    """Reduce, Allreduce, Reduce_scatter_block and Reduce_scatter with SUM, PROD, MAX and MIN."""
    x, op = data(comm.rank, comm.size), getattr(mpi, op)
    a, b, c, d = np.zeros(comm.size), np.zeros(comm.size), np.zeros(1), np.zeros(1)
    do(comm, form, "Reduce")(x, a, op, comm.size - 1)
    comm.Bcast(a, root=comm.size - 1)
    do(comm, form, "Allreduce")(x, b, op)
    do(comm, form, "Reduce_scatter_block")(x, c, op)
    do(comm, form, "Reduce_scatter")(x, d, [1] * comm.size, op)
    return [a, b, c, d]


@legal(lambda rank, size, form: [np.repeat(np.arange(size) + 1, 2).reshape(size, 2)] * 2, form=FORMS)
def allgather(comm, form):
    y, z = np.zeros((2, comm.size, 2), int)
    z[comm.rank] = comm.rank + 1
    do(comm, form, "Allgather")(np.full(2, comm.rank + 1), y)
    do(comm, form, "Allgather")(mpi.IN_PLACE, z)
    return [y, z]


def counted(size):
    """Each rank's own length (0, 1, 2, 0, ...): the vector variants take uneven and empty parts."""
    return [r % 3 for r in range(size)]


def packed(size):
    return np.concatenate([data(r, n) for r, n in enumerate(counted(size))])


@legal(lambda rank, size, form: [packed(size)] * 3, form=FORMS)
def allgatherv(comm, form):
    """By counts, by counts and type, and in place."""
    counts = counted(comm.size)
    start, mine = sum(counts[: comm.rank]), counts[comm.rank]
    a, b, c = np.zeros((3, sum(counts)))
    c[start : start + mine] = data(comm.rank, mine)
    do(comm, form, "Allgatherv")(data(comm.rank, mine), [a, counts])
    do(comm, form, "Allgatherv")([data(comm.rank, 9), mine], [b, counts, mpi.DOUBLE])
    do(comm, form, "Allgatherv")(mpi.IN_PLACE, [c, counts])
    return [a, b, c]


def backwards(size):
    """The parts of all ranks, last rank first, with a hole of one element before each."""
    return np.concatenate([row(-1, *data(r, n)) for r, n in reversed(list(enumerate(counted(size))))])


@legal(lambda rank, size, form: backwards(size), form=FORMS)
def allgatherv_puts_parts_where_displacements_say(comm, form):
    counts = counted(comm.size)
    displs = [sum(1 + n for n in counts[r + 1 :]) + 1 for r in range(comm.size)]
    y = np.full(sum(counts) + comm.size, -1.0)
    do(comm, form, "Allgatherv")(data(comm.rank, counts[comm.rank]), [y, counts, displs, mpi.DOUBLE])
    return y


@legal(lambda rank, size, form: [total(size, 2 * size)[2 * rank : 2 * rank + 2]] * 2, form=FORMS)
def reduce_scatter_block(comm, form):
    """With two buffers; in place the result lies at the start of the buffer."""
    x, y = data(comm.rank, 2 * comm.size), np.zeros(2)
    do(comm, form, "Reduce_scatter_block")(x, y, op=mpi.SUM)
    do(comm, form, "Reduce_scatter_block")(mpi.IN_PLACE, x)
    return [y, x[:2]]


def block_of(rank, size, n=7):
    counts = split_sizes(n, size)
    return total(size, n)[sum(counts[:rank]) : sum(counts[: rank + 1])]


@legal(lambda rank, size, form: [block_of(rank, size)] * 2, form=FORMS)
def reduce_scatter_uneven(comm, form):
    """Counts differ, the last one is zero; two buffers and in place."""
    counts = split_sizes(7, comm.size)
    x, y = data(comm.rank, 7), np.zeros(counts[comm.rank])
    do(comm, form, "Reduce_scatter")(x, y, counts, mpi.SUM)
    do(comm, form, "Reduce_scatter")(mpi.IN_PLACE, x, recvcounts=counts)
    return [y, x[: counts[comm.rank]]]


def exchanged(rank, size, n=2):
    return np.concatenate([data(100 * source + rank, n) for source in range(size)])


@legal(lambda rank, size, form: [exchanged(rank, size)] * 2, form=FORMS)
def alltoall(comm, form):
    """Rank r gets from s what s keeps for r; with two buffers and in place."""
    x = np.concatenate([data(100 * comm.rank + dest, 2) for dest in range(comm.size)])
    y = np.zeros(2 * comm.size)
    do(comm, form, "Alltoall")(x, y)
    do(comm, form, "Alltoall")(mpi.IN_PLACE, x)
    return [y, x]


def parcel(source, dest):
    return data(100 * source + dest, (source + 2 * dest) % 3)


@legal(lambda rank, size, form: np.concatenate([parcel(s, rank) for s in range(size)]), form=FORMS)
def alltoallv(comm, form):
    """Lengths 0, 1 and 2, other ones for each pair."""
    out, into = [parcel(comm.rank, d) for d in range(comm.size)], [parcel(s, comm.rank) for s in range(comm.size)]
    y = np.zeros(sum(map(len, into)))
    do(comm, form, "Alltoallv")([np.concatenate(out), [*map(len, out)]], [y, [*map(len, into)], mpi.DOUBLE])
    return y


@legal(lambda rank, size, form: np.array([[-1, 10 * s + rank] for s in range(size - 1, -1, -1)]), form=FORMS)
def alltoallv_with_displacements(comm, form):
    """One element a pair, taken from every second place and put down in reverse order with holes."""
    size = comm.size
    x, y = np.full(2 * size, -5), np.full((size, 2), -1)
    x[::2] = 10 * comm.rank + np.arange(size)
    ones, apart = [1] * size, [2 * d for d in range(size)]
    into = [2 * (size - 1 - s) + 1 for s in range(size)]
    do(comm, form, "Alltoallv")([x, ones, apart, mpi.LONG], [y, (ones, into), mpi.LONG])
    return y


def block_between(source, dest):
    return np.full(1 + (source + dest) % 2, 10 * source + dest)


@legal(lambda rank, size, form: np.concatenate([block_between(s, rank) for s in range(size)]), form=FORMS)
def alltoallv_in_place(comm, form):
    """In place the lengths of a pair agree in both directions."""
    blocks = [block_between(comm.rank, dest) for dest in range(comm.size)]
    x = np.concatenate(blocks)
    do(comm, form, "Alltoallv")(mpi.IN_PLACE, [x, [*map(len, blocks)]])
    return x


@legal(lambda rank, size, form: True, form=FORMS)
def empty_collectives(comm, form):
    """Zero elements are legal in every call."""
    nothing, zeros = np.empty(0), [0] * comm.size
    for name in ("Allreduce", "Reduce_scatter_block", "Alltoall", "Allgather", "Scatter", "Gather", "Reduce"):
        do(comm, form, name)(np.empty(0), np.empty(0))
    do(comm, form, "Bcast")(nothing)
    do(comm, form, "Reduce_scatter")(nothing, np.empty(0), zeros)
    do(comm, form, "Allgatherv")(nothing, [np.empty(0), zeros])
    do(comm, form, "Alltoallv")([nothing, zeros], [np.empty(0), zeros])
    return True


DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()


@legal(lambda rank, size: [np.arange(size).astype(d) for d in DTYPES])
def moving_collectives_take_every_dtype(comm):
    """Gather, Bcast, Scatter and Allgather move any type that mpi4py knows."""
    seen = []
    for dtype in DTYPES:
        mine, everyone, again = np.array([comm.rank]).astype(dtype), *np.zeros((2, comm.size), dtype)
        comm.Gather(mine, everyone, root=comm.size - 1)
        comm.Bcast(everyone, root=comm.size - 1)
        back = np.zeros(1, dtype)
        comm.Scatter(everyone, back)
        comm.Allgather(back, again)
        seen.append(again)
    return seen


# Order and completion --------------------------------------------------------------------------------------------


@legal(lambda rank, size, order: (total(size), data(0), 3.0 * size, True), order=["forward", "backward", "waitall"])
def several_nonblocking_collectives_at_once(comm, order):
    """Begun in one order by all, completed in any; the root's message and an empty barrier among them."""
    x, y, z = np.zeros(3), data(comm.rank), np.ones(1) * 3
    requests = [comm.Iallreduce(data(comm.rank), x), comm.Ibarrier(), comm.Ibcast(y), comm.Iallreduce(mpi.IN_PLACE, z)]
    if order == "waitall":
        mpi.waitall(requests)
    else:
        for request in requests if order == "forward" else requests[::-1]:
            request.Wait()
    return x, y, z[0], all(request.Test() for request in requests)


@legal(lambda rank, size: (sorted(range(4)), [10.0 * i * size for i in range(4)]))
def waitany_over_collectives(comm):
    x = np.array([[10.0 * i] for i in range(4)])
    requests = [comm.Iallreduce(mpi.IN_PLACE, x[i]) for i in range(4)]
    return sorted(mpi.waitany(requests) for _ in requests), x[:, 0].tolist()


@legal(lambda rank, size: (float((rank - 1) % size), total(size), float(size)))
def collectives_and_messages_in_flight_together(comm):
    """A message round the ring, a nonblocking and a blocking collective overlap; each rank waits in its own order."""
    got, x, y = np.zeros(1), np.zeros(3), np.ones(1)
    requests = [
        comm.Irecv(got, (comm.rank - 1) % comm.size),
        comm.Iallreduce(data(comm.rank), x),
        comm.Isend(row(comm.rank), (comm.rank + 1) % comm.size),
    ]
    comm.Allreduce(mpi.IN_PLACE, y)
    mpi.waitall(requests[comm.rank % 3 :] + requests[: comm.rank % 3])
    return got[0], x, y[0]


@legal(lambda rank, size: (True, total(size)))
def a_collective_completes_under_test(comm):
    """A loop over Test drives a nonblocking collective to its end."""
    x = np.zeros(3)
    request = comm.Iallreduce(data(comm.rank), x)
    while not request.Test():
        pass
    return request.Test(), x


@legal(lambda rank, size: rank == 0, ranks=RANKS[1:])
def nobody_leaves_a_barrier_before_all_have_entered(comm):
    """Rank 0 enters only after every other rank has tested its Ibarrier, in vain."""
    if comm.rank == 0:
        for _ in range(1, comm.size):
            comm.Recv(np.empty(0))
        comm.Ibarrier().Wait()
        return True
    request = comm.Ibarrier()
    left_early = request.Test()
    comm.Send(np.empty(0), 0)
    request.Wait()
    return left_early


@legal(lambda rank, size: [float((rank - 1) % size), float(size), 0.0])
def collective_traffic_does_not_meet_wildcards(comm):
    """A receive from ANY_SOURCE, ANY_TAG is pending while collectives run: it gets the program's message only."""
    got, n, b = np.zeros(1), np.ones(1), row(comm.rank)
    request = comm.Irecv(got, mpi.ANY_SOURCE, mpi.ANY_TAG)
    comm.Allreduce(mpi.IN_PLACE, n)
    comm.Bcast(b)
    comm.Barrier()
    comm.Send(row(comm.rank), (comm.rank + 1) % comm.size, 9)
    request.Wait()
    return [got[0], n[0], b[0]]


@legal(lambda rank, size: [total(size) * (i + 1) for i in range(10)])
def a_long_row_of_collectives(comm):
    """Ten of a kind, with other roots in between: calls match by order, nothing is left over."""
    seen = []
    for i in range(10):
        x = np.zeros(3)
        comm.Reduce(data(comm.rank) * (i + 1), x, root=i % comm.size)
        comm.Barrier()
        comm.Bcast(x, root=i % comm.size)
        seen.append(x)
    return seen


@pytest.mark.parametrize("case, ranks", legal.params())
def test_collectives(case, ranks, world):
    case.check(ranks, world)
