"""A Status counts and can be copied before MPI has started."""

import pickle

from reference import mpi


def test_a_status_counts_elements_before_mpi_has_started():
    status = mpi.Status()
    assert (status.count, status.Get_elements(mpi.DOUBLE), status.Is_cancelled()) == (0, 0, False)
    status.nbytes = 24
    assert (status.count, status.Get_count(mpi.DOUBLE), status.Get_count(mpi.FLOAT)) == (24, 3, 6)
    vector = mpi.DOUBLE.Create_vector(2, 1, 2)
    assert (status.Get_count(vector), status.Get_elements(vector)) == (mpi.UNDEFINED, 3)
    status.nbytes = 25
    assert status.Get_count(mpi.DOUBLE) == mpi.UNDEFINED == status.Get_elements(mpi.DOUBLE)


def test_a_status_can_be_set_and_copied():
    status = mpi.Status()
    status.source, status.tag = 3, 4
    status.Set_elements(mpi.DOUBLE, 2)
    status.cancelled = True
    for copy in (mpi.Status(status), pickle.loads(pickle.dumps(status))):
        assert (copy.source, copy.tag, copy.count, copy.cancelled) == (3, 4, 16, True)
