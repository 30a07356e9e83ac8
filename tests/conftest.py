"""What all tests share: the two worlds."""

import pytest


@pytest.fixture(params=["virtual", pytest.param("mpi", marks=pytest.mark.mpi)])
def world(request) -> str:
    """Each test that takes `world` runs on the virtual cluster and on real ranks."""
    return request.param
