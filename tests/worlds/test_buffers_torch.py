"""torch tensors as buffers: mpi4py takes CPU tensors directly (DLPack), and refuses some."""

import pytest
import torch

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import launch
from reference.worlds.buffers import as_buffer
from reference.worlds.memory import as_bytes
from tests.worlds.conformance import Legal

legal = Legal(ranks=(1, 2, 5))  # real ranks wait busily for each other's import of torch
MOVED = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split()
SUMMED = "float16 float32 float64 int8 uint8 int16 int32 int64 complex64".split()


def ring(comm, tensor, into=None):
    """Pass a tensor one rank to the right."""
    into = torch.empty_like(tensor) if into is None else into
    comm.Sendrecv(tensor, (comm.rank + 1) % comm.size, 0, into, (comm.rank - 1) % comm.size, 0)
    return into


@legal(lambda rank, size: [torch.arange(3).to(getattr(torch, d)) for d in MOVED])
def tensors_of_every_dtype_travel(comm):
    """bfloat16, which MPI has no type for, travels as bytes."""
    return [ring(comm, torch.arange(3).to(getattr(torch, d))) for d in MOVED]


@legal(lambda rank, size: [torch.full((2, 2), sum(range(size))).to(getattr(torch, d)) for d in SUMMED])
def tensors_are_summed(comm):
    """Out of place and in place."""
    seen = []
    for dtype in SUMMED:
        x = torch.full((2, 2), comm.rank).to(getattr(torch, dtype))
        y = torch.empty_like(x)
        comm.Allreduce(x, y)
        comm.Allreduce(mpi.IN_PLACE, x)
        assert torch.equal(x, y)
        seen.append(y)
    return seen


@legal(
    lambda rank, size: (torch.tensor([0.0, 5.0, 6.0, 0.0]), torch.tensor([[0, 3], [1, 4], [2, 5]]), torch.tensor(2.5))
)
def views_scalars_and_transposes(comm):
    """A contiguous slice is filled in place; a transposed tensor travels in the order of its memory."""
    x = torch.zeros(4)
    ring(comm, torch.tensor([5.0, 6.0]), x[1:3])
    flat = ring(comm, torch.arange(6).reshape(3, 2).t(), torch.zeros(3, 2, dtype=torch.int64).t())
    assert torch.equal(flat, torch.arange(6).reshape(3, 2).t())
    turned = ring(comm, torch.arange(6).reshape(2, 3), torch.zeros(2, 3, dtype=torch.int64))
    return x, turned.t().contiguous(), ring(comm, torch.tensor(2.5))


@legal(lambda rank, size: torch.arange(3.0) + (rank - 1) % size)
def tensors_and_arrays_understand_each_other(comm):
    """A tensor is received as a NumPy array and sent on as one."""
    array = ring(comm, torch.arange(3.0) + comm.rank, torch.zeros(3).numpy())
    tensor = torch.zeros(3)
    comm.Sendrecv(array, comm.rank, 1, tensor, comm.rank, 1)
    return tensor


@legal(lambda rank, size: [torch.arange(2.0 * size), torch.tensor([1.0]) * size, torch.zeros(2), torch.ones(1) * rank])
def tensors_in_collectives(comm):
    """Allgather, Reduce_scatter_block, Bcast and Scatter with tensors and [tensor, type]."""
    gathered, summed, scattered = torch.zeros(comm.size, 2), torch.zeros(1), torch.zeros(1)
    comm.Allgather(torch.arange(2.0) + 2 * comm.rank, gathered)
    comm.Reduce_scatter_block(torch.ones(comm.size), summed)
    x = torch.full((2,), float(comm.rank))
    comm.Bcast([x, mpi.FLOAT])
    comm.Iscatter(torch.arange(float(comm.size)) if comm.rank == 0 else None, scattered).Wait()
    return [gathered.reshape(-1), summed, x, scattered]


@legal(lambda rank, size: torch.tensor([0.0, 2.0]) * sum(range(1, size + 1)))
def gradients_are_summed(comm):
    """The usual step of data parallelism: backward, then a sum of the gradients in place."""
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    (w * torch.tensor([0.0, 2.0]) * (comm.rank + 1)).sum().backward()
    comm.Allreduce(mpi.IN_PLACE, w.grad)
    return w.grad


@legal(lambda rank, size: [torch.ones(2), torch.ones(2, dtype=torch.bfloat16)])
def tensors_travel_in_objects(comm):
    sent = comm.isend([torch.ones(2), torch.ones(2, dtype=torch.bfloat16)], comm.rank)
    got = comm.recv(source=comm.rank)
    sent.wait()
    return got


@pytest.mark.parametrize("dtype", MOVED)
def test_the_bytes_of_a_tensor_are_those_that_mpi4py_would_be_lent(dtype):
    tensor = torch.arange(5).to(getattr(torch, dtype))[1:]
    asked = bytes(mpi.buffer.frombuffer(tensor, True))
    assert [as_bytes(tensor, writable).tobytes() for writable in (False, True)] == [asked, asked]


def test_a_tensor_lends_its_memory_and_can_be_resized():
    tensor = torch.zeros(4)
    lent = as_buffer(tensor).typed()
    tensor[0] = 9
    assert lent[0] == 9
    tensor.untyped_storage().resize_(0)  # as ZeRO-3 does between layers
    with pytest.raises(BufferError, match="16 bytes has no memory: its storage was resized to 0"):
        as_buffer(tensor)


def test_lent_memory_outlives_the_tensors_name():
    lent = [as_buffer(torch.full((1000,), float(number))).typed() for number in range(50)]
    assert [set(array) for array in lent] == [{number} for number in range(50)]


def test_a_quarter_of_a_tensor_for_each_of_four_ranks():
    with pytest.raises(ValueError, match="number of entries 6 is not a multiple of 4"):
        as_buffer(torch.zeros(6), blocks=4)
    assert as_buffer(torch.zeros(8), blocks=4).count == 8


def through(comm, tensor, into=None):
    comm.Sendrecv(tensor, comm.rank, 0, torch.zeros(3) if into is None else into, comm.rank, 0)


def reduced(comm, dtype, op):
    x = torch.ones(3, dtype=dtype)
    comm.Allreduce(x, torch.empty_like(x), op)


REFUSED = {
    "a tensor that needs a gradient": (BufferError, lambda c: through(c, torch.ones(3, requires_grad=True))),
    "a result that needs a gradient": (BufferError, lambda c: through(c, torch.ones(3, requires_grad=True) * 2)),
    "receiving into a parameter": (BufferError, lambda c: through(c, torch.ones(3), torch.ones(3, requires_grad=True))),
    "a column": (BufferError, lambda c: through(c, torch.ones(3, 3)[:, 1])),
    "part of a transpose": (BufferError, lambda c: through(c, torch.ones(3, 3).t()[1:], torch.ones(2, 3))),
    "an expanded tensor": (BufferError, lambda c: through(c, torch.ones(1).expand(3))),
    "a sparse tensor": (BufferError, lambda c: through(c, torch.ones(3).to_sparse())),
    "a lazy conjugate": (BufferError, lambda c: through(c, torch.ones(3, dtype=torch.complex64).conj())),
    "Allreduce of a parameter": (BufferError, lambda c: c.Allreduce(mpi.IN_PLACE, torch.ones(3, requires_grad=True))),
    "SUM of bfloat16": (mpi.Exception, lambda c: reduced(c, torch.bfloat16, mpi.SUM)),
    "MAX of bfloat16": (mpi.Exception, lambda c: reduced(c, torch.bfloat16, mpi.MAX)),
    "SUM of bool": (mpi.Exception, lambda c: reduced(c, torch.bool, mpi.SUM)),
    "MAX of complex": (mpi.Exception, lambda c: reduced(c, torch.complex64, mpi.MAX)),
    "BAND of float": (mpi.Exception, lambda c: reduced(c, torch.float32, mpi.BAND)),
    "types that differ": (ValueError, lambda c: c.Allreduce(torch.ones(3), torch.ones(3, dtype=torch.float64))),
    "a list of tensors": (TypeError, lambda c: through(c, [torch.ones(1), torch.ones(1)])),
}


def refusals(comm):
    """The exception type of every wrong call."""
    seen = {}
    for wrong, (_, call) in REFUSED.items():
        try:
            call(comm)
        except Exception as error:
            seen[wrong] = type(error)
    return seen


def test_refused_tensors(world):
    for seen in launch(refusals, 2, world=world).results:
        wrong = {
            name: seen.get(name) for name, (kind, _) in REFUSED.items() if not issubclass(seen.get(name, int), kind)
        }
        assert not wrong, f"refused otherwise, or accepted: {wrong}"


@pytest.mark.timeout(180 * pace())  # the first real launch with 8 ranks imports torch 8 times
@pytest.mark.parametrize("case, ranks", legal.params())
def test_tensors(case, ranks, world):
    case.check(ranks, world)
