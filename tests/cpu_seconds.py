"""A plugin of pytest: writes into the junit file how many CPU seconds each test took, in all processes that it used.

    python -m pytest -p tests.cpu_seconds --junitxml=FILE ...

Seconds by the clock count what else ran on the machine; CPU seconds hardly do. A test that starts ranks, a kernel or a
child computes in other processes: those that have ended are in the usage of this process, and those that still run
(a job of real ranks serves many tests) are asked. So a test is charged with what its ranks did while it ran.

What a fixture of the whole session takes is noted apart: it serves many chapters, and would be charged to the one
whose tests happen to come first.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

TICKS = os.sysconf("SC_CLK_TCK")  # a second, in /proc
LINUX = Path(f"/proc/self/task/{os.getpid()}/children").exists()  # says at once whose children there are

SELF = psutil.Process()  # now: a test may patch os.getpid
_so_far, _shared = pytest.StashKey[float](), pytest.StashKey[float]()


def used() -> float:
    """CPU seconds so far of this process, its children that have ended, and all that descend from it and still run."""
    own = os.times()
    running = map(_of, _children("self")) if LINUX else map(_told, SELF.children(recursive=True))
    return own.user + own.system + own.children_user + own.children_system + sum(running)


def _children(pid: int | str) -> list[int]:
    """The children of a process, from /proc: psutil would look at every process of the machine, for each test."""
    found: list[int] = []
    with suppress(OSError):  # it has just gone
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as listed:
                found += map(int, listed.read().split())
    return found


def _of(pid: int) -> float:
    """CPU seconds of a process, of its children that have ended, and of all that descend from it and still run."""
    try:
        with open(f"/proc/{pid}/stat") as line:
            ticks = line.read().rpartition(")")[2].split()[11:15]  # user and system, its own and of ended children
    except OSError:
        return 0.0
    return sum(map(int, ticks)) / TICKS + sum(map(_of, _children(pid)))


def _told(process: psutil.Process) -> float:
    """CPU seconds of a process and of its children that have ended; nothing where it has just gone."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.Error:
        return 0.0


def pytest_collection_finish(session: pytest.Session) -> None:
    """What happened before the first test (imports, collection) is nobody's."""
    session.stash[_so_far], session.stash[_shared] = used(), 0.0


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Any:
    """Note what a fixture of the whole session took."""
    if fixturedef.scope != "session":
        return (yield)
    before = used()
    try:
        return (yield)
    finally:
        request.session.stash[_shared] += max(0.0, used() - before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Note what was used since the test before was noted; later would be too late for its report."""
    before, shared, now = item.session.stash[_so_far], item.session.stash[_shared], used()
    item.session.stash[_so_far], item.session.stash[_shared] = now, 0.0
    item.user_properties.append(("cpu seconds", f"{max(0.0, now - before - shared):.4f}"))
    if shared:
        item.user_properties.append(("shared cpu seconds", f"{shared:.4f}"))
