"""Buffers of nonblocking collectives: a change that comes too early is told, results come with the wait."""

import numpy as np
import pytest
import torch

from reference import mpi
from reference.worlds import BufferChanged, launch

P = 3
CALLS = {  # what each does with buffers of 2 P numbers
    "Ibcast": lambda c, x, y: c.Ibcast(y),
    "Ireduce": lambda c, x, y: c.Ireduce(x, y),
    "Iallreduce": lambda c, x, y: c.Iallreduce(x, y),
    "Iallgather": lambda c, x, y: c.Iallgather(x[:2], y),
    "Iallgatherv": lambda c, x, y: c.Iallgatherv(x[:2], [y, [2] * P]),
    "Ireduce_scatter": lambda c, x, y: c.Ireduce_scatter(x, y[:2], [2] * P),
    "Ireduce_scatter_block": lambda c, x, y: c.Ireduce_scatter_block(x, y[:2]),
    "Iscatter": lambda c, x, y: c.Iscatter(x, y[:2]),
    "Igather": lambda c, x, y: c.Igather(x[:2], y),
    "Ialltoall": lambda c, x, y: c.Ialltoall(x, y),
    "Ialltoallv": lambda c, x, y: c.Ialltoallv([x, [2] * P], [y, [2] * P]),
}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_a_buffer_that_changes_before_the_collective_is_complete_is_told(name, which):
    def program(comm):
        buffers = np.ones(2 * P), np.zeros(2 * P)
        request = CALLS[name](comm, *buffers)
        buffers[1 if name == "Ibcast" else which][:] = 100
        request.Wait()

    with pytest.raises(BufferChanged, match=rf"rank \d changed the buffer of {name}\(.*test_watched.py:\d+"):
        launch(program, P)


@pytest.mark.parametrize("name", CALLS)
def test_a_result_comes_when_it_is_waited_for_and_not_before(name):
    def program(comm):
        x, y, z = np.arange(2.0 * P) + comm.rank, np.zeros(2 * P), np.zeros(2 * P)
        if name == "Ibcast" and comm.rank == 0:
            y += 1
            z += 1
        before = y.copy()
        request = CALLS[name](comm, x, y)
        mpi.compute(comm, 1.0)  # it is complete long since
        early = np.array_equal(y, before)
        assert request.Test()
        CALLS[name](comm, x, z).Wait()
        return early, y.any(), np.array_equal(y, z)

    assert all(early and same for early, _, same in launch(program, P).results)
    assert launch(program, P).results[0][1]


def test_two_buffers_that_share_memory_are_refused():
    def program(comm):
        x = np.ones(4)
        with pytest.raises(mpi.Exception) as refused:
            comm.Iallreduce(x[:3], x[1:])
        return refused.value.Get_error_class() == mpi.ERR_BUFFER

    assert launch(program, 2).results == [True, True]


SHARED = {
    "one array": lambda x: (x, x),
    "views that overlap": lambda x: (x[:3], x[2:]),
    "a view and its array": lambda x: (x, x[3:]),
    "another shape of it": lambda x: (x.reshape(2, 2), x),
    "a tensor of it": lambda x: (torch.from_numpy(x), x),
}


@pytest.mark.parametrize("name", SHARED)
def test_an_exchange_whose_buffers_share_memory_is_refused(name):
    def program(comm):
        with pytest.raises(mpi.Exception) as refused:
            comm.Sendrecv(SHARED[name](x := np.ones(4))[0], 0, 0, SHARED[name](x)[1], 0, 0)
        return refused.value.Get_error_class() == mpi.ERR_BUFFER

    assert launch(program, 1).results == [True]


def test_two_halves_of_an_array_may_be_exchanged():
    def program(comm):
        x = np.arange(4.0)
        comm.Sendrecv(x[:2], 0, 0, x[2:], 0, 0)
        comm.Sendrecv(x[:0], 0, 0, x[:0], 0, 0)
        return x.tolist()

    assert launch(program, 1).results == [[0.0, 1.0, 0.0, 1.0]]


def none_is_in_place(comm):
    """mpi4py takes None for IN_PLACE."""
    x, y = np.full(2, comm.rank + 1.0), np.full(comm.size, comm.rank + 1.0)
    comm.Allreduce(None, x)
    comm.Allgather(None, y)
    z = np.full(comm.size, 1.0 + comm.rank)
    if comm.rank == 1:
        comm.Reduce(None, z, root=1)
        comm.Scatter(z, None, root=1)
    else:
        comm.Reduce(z, None, root=1)
        comm.Scatter(None, z[:1], root=1)
    return x.tolist(), y.tolist(), z[0]


def test_none_means_in_place(world):
    want = [6, 6], [1, 2, 3], 6
    assert launch(none_is_in_place, 3, world=world).results == [want] * 3


def ends_as_null(comm):
    """Whether each kind of request is true, and equal to REQUEST_NULL, before and after its completion."""
    x, y, peer = np.ones(2), np.zeros(2), comm.size - 1 - comm.rank
    requests = [comm.Irecv(y, peer), comm.Isend(x, peer), comm.Ibarrier(), comm.irecv(source=peer, tag=1)]
    requests.append(comm.isend("word", peer, 1))
    before = [(bool(request), request == mpi.REQUEST_NULL) for request in requests]
    requests[3].wait()
    mpi.waitall(requests[:3] + requests[4:])
    return before, [(bool(request), request == mpi.REQUEST_NULL) for request in requests]


def test_a_request_that_is_complete_is_null(world):
    want = [(True, False)] * 5, [(False, True)] * 5
    assert launch(ends_as_null, 2, world=world).results == [want] * 2
