"""Operations tell, and combine, before MPI has started; those made from functions do the same in both worlds."""

import pickle

import numpy as np
import pytest

from reference import mpi
from reference.worlds import launch


def first_then_second(low, high, datatype):
    """Not commutative: f(g(x)) of linear functions a x + b, as pairs (a, b)."""
    a, b = np.frombuffer(low).reshape(-1, 2).copy(), np.frombuffer(high).reshape(-1, 2)
    b[:, 1] += b[:, 0] * a[:, 1]
    b[:, 0] *= a[:, 0]


def composed(ranks):
    slope, shift = 1.0, 0.0
    for rank in range(ranks):
        slope, shift = slope * (rank + 2), shift * (rank + 2) + rank
    return [slope, shift]


def compositions(comm):
    op = mpi.Op.Create(first_then_second, commute=False)
    mine, seen = np.array([comm.rank + 2.0, comm.rank] * comm.size), []
    for root in range(comm.size):
        y = np.zeros(2 * comm.size)
        comm.Reduce(mine, y, op, root)
        seen.append(comm.bcast(y[:2].tolist(), root))
    comm.Allreduce(mine, y, op)
    seen.append(y[-2:].tolist())
    comm.Reduce_scatter_block(mine, y := np.zeros(2), op)
    seen.append(y.tolist())
    comm.Reduce_scatter(mine, y := np.zeros(2), [2] * comm.size, op)
    seen.append(y.tolist())
    op.Free()
    return seen


@pytest.mark.parametrize("world", ["virtual", "mpi"])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_what_does_not_commute_is_folded_in_the_order_of_ranks(ranks, world):
    for seen in launch(compositions, ranks, world=world).results:
        assert seen == [composed(ranks)] * (ranks + 3)


def larger(low, high, datatype):
    """By absolute value; commutes. In lower-case calls of objects, without a datatype."""
    if datatype is None:
        return max(low, high, key=abs)
    x, y = np.frombuffer(low, datatype.typestr), np.frombuffer(high, datatype.typestr)
    y[:] = np.where(abs(x) > abs(y), x, y)


OUTSIDE = mpi.Op.Create(larger, commute=True)  # travels to the ranks with the program


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_one_that_commutes_and_travels_with_the_program(world):
    def program(comm, op):
        comm.Allreduce((np.arange(7.0) - 3) * (comm.rank + 1), y := np.zeros(7), op)
        op.Reduce_local(np.full(7, -4.0), y)
        return y.tolist(), comm.allreduce(-comm.rank, op)

    expected = [-9, -6, -4, -4, -4, 6, 9], -2
    assert launch(program, 3, OUTSIDE, world=world).results == [expected] * 3


def test_predefined_ones_before_mpi_has_started():
    assert mpi.SUM.Is_commutative() and mpi.SUM.is_predefined and not mpi.REPLACE.is_commutative
    assert pickle.loads(pickle.dumps(mpi.MAX)) is mpi.MAX and mpi.MAX == mpi.operation("MAX") != mpi.MIN
    mpi.SUM.Reduce_local(np.arange(3), y := np.ones(3, int))
    assert y.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="mismatch in send count 2 and receive count 3"):
        mpi.SUM.Reduce_local(np.arange(2), y)
    assert OUTSIDE != mpi.SUM and mpi.Op(OUTSIDE) == OUTSIDE and OUTSIDE(-3, 2) == -3
    with pytest.raises(AttributeError, match="made from a function"):
        mpi.Op.Create(3)
    with pytest.raises(mpi.Exception):
        mpi.SUM.Free()


def test_real_ranks_run_the_same_reduce_local():
    def program(comm):
        mpi.SUM.Reduce_local(np.arange(3), y := np.ones(3, int))
        return y.tolist()

    assert launch(program, 1, world="mpi").results == [[1, 2, 3]]
