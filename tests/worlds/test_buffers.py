"""Specifications of buffers mean the same in both worlds, and are refused alike, before anything is sent."""

import array

import numpy as np
import pytest

from reference import mpi
from reference.worlds import launch

MESSAGES = {  # what a message to oneself brings, from x = 0, 1, ..., 5
    "an array": (lambda x: x, 6),
    "a Fortran array": (lambda x: np.asfortranarray(x.reshape(2, 3)), [0, 3, 1, 4, 2, 5]),
    "a count": (lambda x: [x, 4], 4),
    "a count of NumPy's": (lambda x: [x, np.int64(4)], 4),
    "a type": (lambda x: [x, mpi.DOUBLE], 6),
    "a typecode": (lambda x: [x, "d"], 6),
    "NumPy's typecode": (lambda x: (x, "f8"), 6),
    "count and displacement": (lambda x: [x, (2, 3)], [3, 4]),
    "a list of them": (lambda x: [x, [2, 3]], [3, 4]),
    "no count and a displacement": (lambda x: [x, (None, 2)], [2, 3, 4, 5]),
    "count, displacement, type": (lambda x: [x, 2, 1, mpi.DOUBLE], [1, 2]),
    "a pair and a type": (lambda x: [x, (2, 1), "d"], [1, 2]),
    "no count, displacement, type": (lambda x: [x, None, 2, mpi.DOUBLE], [2, 3, 4, 5]),
    "no displacement": (lambda x: [x, 3, None, mpi.DOUBLE], 3),
    "nothing": (lambda x: [None, 0, mpi.DOUBLE], 0),
    "nothing without a count": (lambda x: [None, "d"], 0),
    "BOTTOM": (lambda x: [mpi.BOTTOM, 0, "d"], 0),
    "bytes of numbers": (lambda x: array.array("d", x), 6),
    "a memoryview": (lambda x: memoryview(x)[1:4], [1, 2, 3]),
    "more elements in an item": (lambda x: [x, 1, 1, mpi.DOUBLE.Create_contiguous(2).Commit()], [2, 3]),
}

WRONG = {
    "a count past the buffer": (ValueError, lambda x: [x, 1000]),
    "a displacement past the buffer": (ValueError, lambda x: [x, 1, 6, "d"]),
    "a count past it from a displacement": (ValueError, lambda x: [x, (4, 3)]),
    "a negative displacement": (ValueError, lambda x: [x, (2, -1)]),
    "a count of a fraction": (TypeError, lambda x: [x, 2.5]),
    "an unknown typecode": (KeyError, lambda x: [x, 2, "\0"]),
    "no memory and a count": (ValueError, lambda x: [None, 2, mpi.DOUBLE]),
    "no memory and no type": (KeyError, lambda x: [None, 0]),
    "absolute addresses": (NotImplementedError, lambda x: [mpi.BOTTOM, 1, "d"]),
    "a vector past the buffer": (ValueError, lambda x: [x, 1, mpi.DOUBLE.Create_vector(4, 1, 2).Commit()]),
    "a vector before the buffer": (ValueError, lambda x: [x, 1, mpi.DOUBLE.Create_vector(2, 1, -1).Commit()]),
    "bytes that are no whole element": (ValueError, lambda x: [x.view("u1")[:13], "d"]),
}


def to_myself(comm, specification):
    got, status = np.full(7, -1.0), mpi.Status()
    comm.Sendrecv(specification(np.arange(6.0)), comm.rank, 0, got, comm.rank, 0, status)
    return got[: status.Get_count(mpi.DOUBLE)].tolist()


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name, world):
    specification, expected = MESSAGES[name]
    expected = list(range(expected)) if isinstance(expected, int) else expected
    assert launch(to_myself, 1, specification, world=world).results == [expected]


def refusals(comm, specification):
    """Give the same wrong thing to every call that takes a message; then the communicator still works."""
    x, y, seen = np.arange(6.0), np.zeros(1000), []
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    calls = [
        lambda: comm.Send(specification(x), right),
        lambda: comm.Isend(specification(x), right),
        lambda: comm.Recv(specification(x), left),
        lambda: comm.Irecv(specification(x), left),
        lambda: comm.Sendrecv(specification(x), right, 0, y, left, 0),
        lambda: comm.Sendrecv(y, right, 0, specification(x), left, 0),
        lambda: comm.Send_init(specification(x), right),
        lambda: comm.Recv_init(specification(x), left),
        lambda: comm.Bcast(specification(x)),
        lambda: comm.Allgather(specification(x), y),
        lambda: comm.Iallreduce(specification(x), y),
    ]
    for call in calls:
        try:
            call()
            seen.append(None)
        except Exception as error:
            seen.append(type(error))
    comm.Sendrecv(x + comm.rank, right, 0, y, left, 0)
    return seen, y[0]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_before_anything_is_sent(name, world):
    expected, specification = WRONG[name]
    for rank, (seen, first) in enumerate(launch(refusals, 2, specification, world=world).results):
        assert all(kind is not None and issubclass(kind, expected) for kind in seen), seen
        assert first == (rank - 1) % 2


def blocks(comm):
    """Counts of block calls are those of one block; v-calls take lists, one number for all, and strides."""
    P, seen = comm.size, []
    mine = np.array([comm.rank, -comm.rank, 7.0])
    comm.Allgather([mine, 2], [y := np.full(2 * P + 1, 9.0), 2])
    seen.append(y.tolist())
    comm.Gather([mine, 2], [y := np.full(2 * P + 1, 9.0), (2, 1), "d"] if comm.rank == 0 else None)
    seen.append(comm.bcast(y.tolist()))
    comm.Alltoall([np.repeat(mine, P)[: 2 * P], 1], [y := np.full(2 * P, 9.0), 1])
    seen.append(len(y.tolist()))
    comm.Allgatherv([mine, 2], [y := np.full(2 * P, 9.0), 2])
    seen.append(y.tolist())
    comm.Allgatherv([mine, 1], [y := np.full(2 * P, 9.0), (1, 2)])
    seen.append(y.tolist())
    comm.Allgatherv([mine, 1 if comm.rank else 2], [y := np.full(P + 1, 9.0), None])
    seen.append(y.tolist())
    comm.Scatterv([np.arange(3.0 * P), (1, 3)] if comm.rank == 0 else None, y := np.zeros(1))
    seen.append(y.tolist())
    return seen


def test_counts_of_blocks(world):
    for P in (1, 2, 3):
        for rank, seen in enumerate(launch(blocks, P, world=world).results):
            pairs = [number for r in range(P) for number in (r, -r)]
            assert seen[0] == [*pairs, 9] and seen[1] == [9, *pairs] and seen[3] == pairs
            assert seen[4] == [number for r in range(P) for number in (r, 9)]
            assert seen[5] == [0, 0, *range(1, P)] and seen[6] == [3 * rank]


WRONG_BLOCKS = {
    "more blocks than the memory has": lambda c, y: c.Allgather(y[:2], [y, 2]),
    "no whole blocks": lambda c, y: c.Allgather(y[:1], y[: c.size + 1]) if c.size > 1 else c.Allgather(y[:1], [y, 99]),
    "counts past the memory": lambda c, y: c.Allgatherv(y[:3], [y, 3]),
    "displacements past the memory": lambda c, y: c.Alltoallv([y, (1, 9)] if c.size > 1 else [y, [1], [9], "d"], y),
    "negative displacements": lambda c, y: c.Allgatherv(y[:1], [y, 1, [-1] * c.size, mpi.DOUBLE]),
    "too many counts": lambda c, y: c.Alltoallv([y, [0] * (c.size + 1)], y),
}


@pytest.mark.parametrize("name", WRONG_BLOCKS)
def test_blocks_that_do_not_fit_are_refused(name, world):
    def program(comm, call):
        with pytest.raises(ValueError):
            call(comm, np.zeros(2 * comm.size - 1 if comm.size > 1 else 1))

    for ranks in (1, 3):
        launch(program, ranks, WRONG_BLOCKS[name], world=world)
