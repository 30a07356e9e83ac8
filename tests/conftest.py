"""What all tests share: the two worlds, and torch.distributed's own results."""

import pytest


@pytest.fixture(params=["virtual", pytest.param("mpi", marks=pytest.mark.mpi)])
def world(request) -> str:
    """Each test that takes `world` runs on the virtual cluster and on real ranks."""
    return request.param


@pytest.fixture(scope="session")
def oracles(tmp_path_factory) -> dict:
    """What each rank of torch.distributed returned, by the oracle's name (tests/oracles): one job a session."""
    from .oracles.job import run_all

    return run_all(str(tmp_path_factory.mktemp("oracles")))
