"""What all tests share: the two worlds, torch.distributed's own results, and how hypothesis tries examples."""

import gc
import importlib
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from .examples import register

register()
GRADERS = Path(__file__).parent / "exercises"


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(config, items):
    """Of several workers (`pytest -n 2 --dist loadgroup`) one alone starts real ranks: they occupy a machine by far.

    Any other module is one worker's: what its tests share is made once, and there are 500 modules to deal out, not
    10,000 tests. Of graders, whose modules are few and long, only those that share a fixture are.
    Tests that take long, and are marked so, are only run when they are asked for: pytest -m long.
    """
    if not re.search(r"\blong\b", config.option.markexpr):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    for item in items:
        if item.get_closest_marker("mpi") or "oracles" in item.fixturenames or _world(item) == "mpi":
            item.add_marker(pytest.mark.xdist_group("real ranks"))
        elif not item.get_closest_marker("xdist_group") and (GRADERS not in item.path.parents or _shares(item)):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish(session):
    """What is there before the first test stays: the garbage collector need not look through it again and again."""
    gc.freeze()


def _shares(item) -> bool:
    made = getattr(item, "_fixtureinfo", None)
    return made is not None and any(defs[-1].scope == "module" for defs in made.name2fixturedefs.values())


def _world(item) -> str | None:
    return item.callspec.params.get("world") if hasattr(item, "callspec") else None


@pytest.fixture(params=["virtual", pytest.param("mpi", marks=pytest.mark.mpi)])
def world(request) -> str:
    """Each test that takes `world` runs on the virtual cluster and on real ranks."""
    own = {"own_job", "own_job_of_the_module"} & {*request.fixturenames}
    if request.param == "mpi" and "torch" in sys.modules and not own:
        request.getfixturevalue("torch_on_all_ranks")
    return request.param


@pytest.fixture(scope="session")
def torch_on_all_ranks() -> None:
    """All real ranks import torch at once: those that had it would wait busily for those that come to it later."""
    from reference.worlds import launch
    from reference.worlds.real import holder

    launch(lambda comm: importlib.import_module("torch") and None, holder.MIN_RANKS, world="mpi")


@contextmanager
def _set_aside():
    """Jobs of two ranks, unless more are asked for; the job of all other tests is set aside meanwhile."""
    from reference.worlds.real import holder

    aside, holder.HOLDER.job = holder.HOLDER.job, None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holder, "MIN_RANKS", 2)
        yield
    holder.close_job()
    holder.HOLDER.job = aside


@pytest.fixture
def own_job():
    """For a test that ends its job of real ranks: to start that of all others again costs eight imports of torch."""
    with _set_aside():
        yield


@pytest.fixture(scope="module")
def own_job_of_the_module():
    """For a module of such tests of which most do not end their job."""
    with _set_aside():
        yield


@pytest.fixture(scope="session")
def oracles(tmp_path_factory) -> dict:
    """What each rank of torch.distributed returned, by the oracle's name (tests/oracles): one job a session."""
    from .oracles.job import run_all

    return run_all(str(tmp_path_factory.mktemp("oracles")))
