"""Survivors go on: what survive() promises where nobody dies, and what is told where ranks cannot survive."""

import pytest

from reference import mpi
from reference.mpi.failures import FailureError
from reference.recovery import shrink
from reference.recovery.shrink import lost_a_rank, why_not


@pytest.mark.parametrize("code", shrink.LOSSES)
def test_the_errors_of_a_loss(code):
    assert lost_a_rank(FailureError(code))


@pytest.mark.parametrize("error", [mpi.Exception(mpi.ERR_RANK), ValueError("rank 2 failed")])
def test_other_errors_are_no_loss(error):
    assert not lost_a_rank(error)


def test_virtual_ranks_can_be_lost():
    assert why_not(object()) == ""


@pytest.mark.parametrize(
    ("library", "enabled", "told"),
    [
        ("MPICH Version:      5.0.2\n", "", "MPICH Version:      5.0.2 ends all ranks if one dies"),
        ("Open MPI v5.0.11, package: Open MPI\n", "", "only if it is started with --with-ft ulfm"),
        ("Open MPI v5.0.11, package: Open MPI\n", "1", ""),
    ],
)
def test_why_real_ranks_cannot_be_lost(monkeypatch, library, enabled, told):
    monkeypatch.setattr(mpi, "library_version", lambda: library)
    monkeypatch.setenv(shrink.ENABLED, enabled)
    found = why_not(mpi.Comm())
    assert told in found and bool(found) == bool(told)
    assert not told or "make .openmpi; MPI4PY_LIBMPI=" in found
