"""What mpi4py refuses is refused alike in both worlds: at the call, on the rank that made it, with the same exception.

Each line was tried on mpi4py 4.1 with MPICH and, as far as the standard speaks of it, follows from it: wrong
arguments (rank, tag, root, operation) are errors of MPI, unusable buffers are errors of mpi4py.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from reference import mpi
from reference.worlds import launch
from tests.worlds.conformance import row

LACKING = "Scan Exscan Bsend Rsend Idup Alltoallw Bcast_init Sendrecv_replace Neighbor_allgather".split()


def through(comm, buffer, got):
    """A message to oneself."""
    comm.Sendrecv(buffer, comm.rank, 0, got, comm.rank, 0)


def frozen(n=3):
    x = np.zeros(n)
    x.setflags(write=False)
    return x


def z(n=3, dtype=float):
    return np.zeros(n, dtype)


def freed(comm):
    twin = comm.Dup()
    twin.Free()
    return twin


def allreduce(comm, dtype, op):
    comm.Allreduce(np.ones(3, dtype), np.ones(3, dtype), op)


BUFFERS = {
    "a column": (BufferError, lambda c: through(c, np.ones((3, 3))[:, 1], z())),
    "every second element": (BufferError, lambda c: through(c, np.ones(6)[::2], z())),
    "a reversed array": (BufferError, lambda c: through(c, np.ones(3)[::-1], z())),
    "a broadcast array": (BufferError, lambda c: through(c, np.broadcast_to(1.0, (3,)), z())),
    "a column to receive into": (BufferError, lambda c: through(c, row(1, 2, 3), np.ones((3, 3))[:, 1])),
    "a read-only receive buffer": (BufferError, lambda c: through(c, row(1, 2, 3), frozen())),
    "bytes to receive into": (BufferError, lambda c: through(c, b"abc", bytes(3))),
    "foreign byte order": (BufferError, lambda c: through(c, np.ones(3, ">f8"), z())),
    "objects": (KeyError, lambda c: through(c, np.array([None, 1], object), z())),
    "a structure": (KeyError, lambda c: through(c, np.zeros(3, [("a", "i4"), ("b", "f8")]), z())),
    "a string": (TypeError, lambda c: through(c, "abc", z())),
    "a number": (TypeError, lambda c: through(c, 3, z())),
    "a float": (TypeError, lambda c: through(c, 3.5, z())),
    "None": (TypeError, lambda c: through(c, None, z())),
    "a list of numbers": (TypeError, lambda c: through(c, [1, 2, 3], z())),
    "None to receive into": (TypeError, lambda c: through(c, z(), None)),
    "a list to receive into": (TypeError, lambda c: through(c, z(), [1, 2, 3])),
    "a specification of one": (ValueError, lambda c: through(c, [z()], z())),
    "a specification of five": (ValueError, lambda c: through(c, [z(), 1, 0, mpi.DOUBLE, 3], z())),
    "an empty specification": (ValueError, lambda c: through(c, [], z())),
    "a negative count": (ValueError, lambda c: through(c, [z(), -1], z())),
}

ARGUMENTS = {
    "a rank beyond the group": (mpi.Exception, lambda c: c.Send(z(), c.size)),
    "a negative rank": (mpi.Exception, lambda c: c.Send(z(), -7)),
    "ANY_SOURCE to send to": (mpi.Exception, lambda c: c.Send(z(), mpi.ANY_SOURCE)),
    "a negative tag": (mpi.Exception, lambda c: c.Send(z(), c.rank, -5)),
    "ANY_TAG to send with": (mpi.Exception, lambda c: c.Send(z(), c.rank, mpi.ANY_TAG)),
    "Ssend beyond the group": (mpi.Exception, lambda c: c.Ssend(z(), c.size)),
    "Isend beyond the group": (mpi.Exception, lambda c: c.Isend(z(), c.size)),
    "Issend with a negative tag": (mpi.Exception, lambda c: c.Issend(z(), c.rank, -2)),
    "Recv from beyond the group": (mpi.Exception, lambda c: c.Recv(z(), c.size)),
    "Recv with a negative tag": (mpi.Exception, lambda c: c.Recv(z(), c.rank, -9)),
    "Irecv from beyond the group": (mpi.Exception, lambda c: c.Irecv(z(), c.size)),
    "Sendrecv to beyond the group": (mpi.Exception, lambda c: c.Sendrecv(z(), c.size, 0, z(), c.rank, 0)),
    "Sendrecv from beyond the group": (mpi.Exception, lambda c: c.Sendrecv(z(), c.rank, 0, z(), c.size, 0)),
    "Probe beyond the group": (mpi.Exception, lambda c: c.Probe(c.size)),
    "Iprobe beyond the group": (mpi.Exception, lambda c: c.Iprobe(c.size)),
    "send beyond the group": (mpi.Exception, lambda c: c.send(1, c.size)),
    "send with a negative tag": (mpi.Exception, lambda c: c.send(1, c.rank, -3)),
    "recv beyond the group": (mpi.Exception, lambda c: c.recv(None, c.size)),
    "what pickle cannot do": ((pickle.PicklingError, AttributeError), lambda c: c.isend(lambda: 0, c.rank)),
    "a grid larger than the group": (mpi.Exception, lambda c: c.Create_cart([c.size + 1])),
    "coordinates beyond the grid": (mpi.Exception, lambda c: c.Create_cart([c.size]).Get_cart_rank([c.size])),
    "a communicator that was freed": (mpi.Exception, lambda c: freed(c).Barrier()),
    "a rank beyond the grid": (mpi.Exception, lambda c: c.Create_cart([c.size]).Get_coords(c.size)),
}

COLLECTIVES = {
    "Bcast root": (mpi.Exception, lambda c: c.Bcast(z(), root=c.size)),
    "Ibcast root": (mpi.Exception, lambda c: c.Ibcast(z(), root=-3)),
    "Reduce root": (mpi.Exception, lambda c: c.Reduce(z(), z(), root=-1)),
    "bcast root": (mpi.Exception, lambda c: c.bcast(1, root=c.size)),
    "Bcast of None": (TypeError, lambda c: c.Bcast(None)),
    "Bcast of a string": (TypeError, lambda c: c.Bcast("abc")),
    "Allreduce of a column": (BufferError, lambda c: c.Allreduce(np.ones((3, 3))[:, 1], z())),
    "Allreduce into a read-only array": (BufferError, lambda c: c.Allreduce(z(), frozen())),
    "Allreduce in place, read-only": (BufferError, lambda c: c.Allreduce(mpi.IN_PLACE, frozen())),
    "Allreduce of objects": (KeyError, lambda c: c.Allreduce(np.array([None]), np.array([None]))),
    "Allreduce counts": (ValueError, lambda c: c.Allreduce(z(3), z(2))),
    "Allreduce types": (ValueError, lambda c: c.Allreduce(z(3), z(3, "f4"))),
    "Iallreduce counts": (ValueError, lambda c: c.Iallreduce(z(3), z(2))),
    "Allreduce of one buffer twice": (mpi.Exception, lambda c: (lambda y: c.Allreduce(y, y))(z())),
    "Allreduce without an operation": (TypeError, lambda c: c.Allreduce(z(), z(), op=None)),
    "Allreduce by name": (TypeError, lambda c: c.Allreduce(z(), z(), op="sum")),
    "Reduce_scatter_block counts": (ValueError, lambda c: c.Reduce_scatter_block(z(3 * c.size), z(2))),
    "Reduce_scatter sum of counts": (ValueError, lambda c: c.Reduce_scatter(z(3 * c.size), z(2), [2] * c.size)),
    "Reduce_scatter own count": (ValueError, lambda c: c.Reduce_scatter(z(3 * c.size), z(2), [3] * c.size)),
    "Reduce_scatter number of counts": (ValueError, lambda c: c.Reduce_scatter(z(), z(), [1] * (c.size + 1))),
    "Allgatherv number of counts": (ValueError, lambda c: c.Allgatherv(z(), [z(3 * c.size + 3), [3] * (c.size + 1)])),
    "alltoall number of objects": (ValueError, lambda c: c.alltoall([0] * (c.size + 1))),
}

UNDEFINED_FOR = {
    "SUM": "?",
    "PROD": "?",
    "MAX": "? c8 c16",
    "MIN": "? c8 c16",
    "LAND": "f4 f8 c8 c16",
    "LOR": "f2 f4 c16",
    "BAND": "? f4 f8 c8",
    "BOR": "? f8 c16",
}
OPERATIONS = {
    f"{op} of {dtype}": (mpi.Exception, lambda c, op=op, dtype=dtype: allreduce(c, dtype, getattr(mpi, op)))
    for op, dtypes in UNDEFINED_FOR.items()
    for dtype in dtypes.split()
}

REFUSED = BUFFERS | ARGUMENTS | COLLECTIVES | OPERATIONS


def attempt(comm, wrong):
    """Make the wrong call; return its exception's type, and whether the communicator still works afterwards."""
    try:
        wrong(comm)
        refusal = None
    except Exception as error:
        refusal = type(error)
    x = np.ones(1)
    comm.Allreduce(mpi.IN_PLACE, x)
    through(comm, row(5), got := z(1))
    return refusal, x[0] == comm.size and got[0] == 5


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("wrong", REFUSED)
def test_refused(wrong, ranks, world):
    expected, call = REFUSED[wrong]
    for refusal, still_works in launch(attempt, ranks, call, world=world).results:
        assert refusal is not None, f"{wrong} was accepted"
        assert issubclass(refusal, expected), f"{wrong} raised {refusal}"
        assert still_works


def test_roots_are_checked_where_they_matter(world):
    """At the root of a Gather or Reduce the receive buffer is needed; elsewhere None is right."""

    def program(comm):
        refusals = []
        for call in (comm.Gather, comm.Reduce):
            try:
                call(z(), None, root=0)
            except TypeError as error:
                refusals.append(type(error))
        return refusals

    assert launch(program, 1, world=world).results == [[TypeError, TypeError]]


USE_OF_COMM_NULL = """
from reference import mpi
from reference.worlds import launch

def program(comm):
    try:
        comm.Split(mpi.UNDEFINED).Barrier()
    except mpi.Exception:
        return "refused"

print(*launch(program, 2).results)
"""


def test_the_null_communicator_refuses_every_call():
    """In a process of its own, because MPI ends the process that uses it before MPI has begun."""
    done = subprocess.run([sys.executable, "-c", USE_OF_COMM_NULL], capture_output=True, text=True)
    assert done.stdout.split() == ["refused", "refused"], done.stdout + done.stderr


@pytest.mark.parametrize("name", LACKING)
def test_what_is_lacking_says_so(name):
    """The virtual cluster offers a subset of mpi4py: every other call of mpi4py's names itself."""

    def program(comm):
        with pytest.raises(NotImplementedError, match=name):
            getattr(comm, name)()
        return True

    assert launch(program, 2).results == [True, True]
