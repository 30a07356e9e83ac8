"""Datatypes tell what MPI tells of them, before MPI has started and on real ranks."""

import pickle

import numpy as np
import pytest

from reference import mpi
from reference.worlds import launch

DERIVED = {
    "contiguous": lambda t: t.Create_contiguous(3),
    "vector": lambda t: t.Create_vector(3, 2, 5),
    "vector of stride -2": lambda t: t.Create_vector(2, 1, -2),
    "hvector": lambda t: t.Create_hvector(2, 3, 40),
    "indexed": lambda t: t.Create_indexed([2, 0, 1], [4, 9, 0]),
    "hindexed": lambda t: t.Create_hindexed([1, 2], [8, 32]),
    "indexed block": lambda t: t.Create_indexed_block(2, [0, 3]),
    "hindexed block": lambda t: t.Create_hindexed_block(1, [0, 24]),
    "subarray": lambda t: t.Create_subarray([4, 5], [2, 3], [1, 1]),
    "subarray of columns": lambda t: t.Create_subarray([4, 5], [2, 3], [1, 1], mpi.ORDER_FORTRAN),
    "resized": lambda t: t.Create_vector(2, 1, 3).Create_resized(0, 8),
    "duplicate": lambda t: t.Create_contiguous(2).Dup(),
    "of a derived one": lambda t: t.Create_vector(2, 1, 2).Create_contiguous(2),
    "nothing": lambda t: t.Create_contiguous(0),
}


def told(datatype):
    return datatype.size, datatype.Get_extent(), datatype.Get_true_extent(), datatype.ub, datatype.true_ub


def own_answers(make):
    return told(make(mpi.DOUBLE)), told(make(mpi.INT32_T))


def test_they_tell_what_mpi_tells():
    def mpis_answers(comm, makes):
        from reference.mpi.start import MPI

        return [(told(make(MPI.DOUBLE)), told(make(MPI.INT32_T))) for make in makes]

    expected = launch(mpis_answers, 1, list(DERIVED.values()), world="mpi").results[0]
    assert [own_answers(make) for make in DERIVED.values()] == expected


@pytest.mark.parametrize("make", DERIVED.values(), ids=DERIVED)
def test_they_survive_a_pickle(make):
    copy = pickle.loads(pickle.dumps(make(mpi.DOUBLE).Commit()))
    assert told(copy) == told(make(mpi.DOUBLE)) and copy.committed


def test_predefined_ones():
    assert (mpi.DOUBLE.Get_size(), mpi.DOUBLE.extent, mpi.DOUBLE.Get_name()) == (8, 8, "MPI_DOUBLE")
    assert mpi.datatype("d") is mpi.DOUBLE is pickle.loads(pickle.dumps(mpi.DOUBLE)) is mpi.Datatype.fromcode("f8")
    assert mpi.DOUBLE == mpi.datatype("DOUBLE") != mpi.FLOAT and mpi.DOUBLE.is_predefined
    with pytest.raises(KeyError, match="cannot map 'x' to MPI datatype"):
        mpi.datatype("x")


def test_equality_and_the_end_of_a_derived_one():
    one, other = mpi.DOUBLE.Create_contiguous(2), mpi.DOUBLE.Create_contiguous(2)
    assert one and one != other and one == mpi.Datatype(one) and one != mpi.DOUBLE
    one.Free()
    assert not one and one != other
    with pytest.raises(mpi.Exception):
        mpi.DOUBLE.Free()


def test_what_is_not_offered_says_what_to_do():
    with pytest.raises(NotImplementedError, match="each type in a message of its own"):
        mpi.Datatype.Create_struct([1], [0], [mpi.DOUBLE])
    with pytest.raises(NotImplementedError, match="INT_INT has no elements that NumPy knows"):
        mpi.datatype("INT_INT").Get_size()


def column_to_row(comm):
    """A column of a matrix is sent as a vector and comes as a row; then a row is received into a column."""
    matrix, row = np.arange(12.0).reshape(3, 4) + 100 * comm.rank, np.zeros(3)
    column = mpi.DOUBLE.Create_vector(3, 1, 4).Commit()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv([matrix, 1, column], right, 0, row, left, 0)
    request = comm.Irecv([matrix, (1, 0), column], left)
    mpi.waitall([comm.Isend(-np.arange(3.0), right), request])
    return row, matrix


@pytest.mark.parametrize("world", ["virtual", "mpi"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_column_travels(ranks, world):
    for rank, (row, matrix) in enumerate(launch(column_to_row, ranks, world=world).results):
        left = (rank - 1) % ranks
        assert row.tolist() == [100 * left, 100 * left + 4, 100 * left + 8]
        assert matrix[:, 0].tolist() == [0, -1, -2]
        assert (matrix[:, 1:] == (np.arange(12.0).reshape(3, 4) + 100 * rank)[:, 1:]).all()


def columns_everywhere(comm):
    """Every collective with columns on one side: rank r's part is column r of a matrix."""
    size = comm.size
    column = mpi.DOUBLE.Create_vector(3, 1, size).Create_resized(0, 8).Commit()
    matrix, mine = np.zeros((3, size)), np.arange(3.0) + 10 * comm.rank
    comm.Allgather(mine, [matrix, 1, column])
    seen = [matrix.copy()]
    comm.Scatter([matrix, 1, column] if comm.rank == 0 else None, back := np.zeros(3))
    seen.append(back)
    matrix[:] = 0
    comm.Gatherv(mine, [matrix, ([1] * size, range(size)), column])
    seen.append(comm.bcast(matrix))
    comm.Bcast([matrix := np.full((3, size), comm.rank + 1.0), (1, size - 1), column])
    seen.append(matrix)
    with pytest.raises(mpi.Exception):  # MPI's operations are defined for its own types
        comm.Allreduce(mpi.IN_PLACE, [matrix, 1, column])
    return seen


@pytest.mark.parametrize("world", ["virtual", "mpi"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_columns_in_collectives(ranks, world):
    for rank, (gathered, back, gathered_v, cast) in enumerate(launch(columns_everywhere, ranks, world=world).results):
        expected = np.arange(3.0)[:, None] + 10 * np.arange(ranks)
        assert (gathered == expected).all() and (gathered_v == expected).all()
        assert back.tolist() == [10 * rank, 10 * rank + 1, 10 * rank + 2]
        assert (cast[:, -1] == 1).all() and (cast[:, :-1] == rank + 1).all()


def test_a_type_that_was_not_committed_is_refused():
    def program(comm):
        with pytest.raises(mpi.Exception):
            comm.Send([np.zeros(4), 1, mpi.DOUBLE.Create_contiguous(2)], comm.rank)

    launch(program, 1)
