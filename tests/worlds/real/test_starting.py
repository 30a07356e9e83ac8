"""Real ranks that cannot start: told soon, with what happened and what to do."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from reference.perf.pace import pace
from reference.worlds import LaunchError, launch, processes
from reference.worlds.real import holder, starting

pytestmark = pytest.mark.mpi
SOON = 45.0  # seconds, times the pace: three times what is promised, for a machine that has become busy meanwhile


@pytest.fixture
def mpirun(own_job, monkeypatch, tmp_path):
    """Put a shell script in the place of mpirun."""

    def script(text):
        path = tmp_path / "mpirun"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr(processes, "find_mpirun", lambda: str(path))

    return script


def refused():
    """The error of a launch on real ranks that cannot start, told in time."""
    began, before = time.monotonic(), set(processes.descendants(os.getpid()))
    with pytest.raises(LaunchError) as info:
        launch(lambda comm: comm.rank, 2, world="mpi")
    assert time.monotonic() - began < SOON * pace()
    assert holder.HOLDER.job is None
    assert set(processes.descendants(os.getpid())) <= before
    return str(info.value)


TINY = """
import time
from reference.worlds import launch
began = time.monotonic()
try:
    launch(lambda comm: comm.rank, 2, world="mpi")
except Exception as error:
    print(type(error).__name__, error)
print("seconds", time.monotonic() - began)
"""
ALONE = "mount -t tmpfs -o size=64k tmpfs /dev/shm"


def test_too_little_shared_memory_is_told_with_the_remedy():
    """In a mount namespace of its own, where /dev/shm is 64 KiB."""
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", "-m", "sh", "-c", ALONE], capture_output=True).returncode
    ):
        pytest.skip("a mount namespace with a small /dev/shm needs Linux, unshare and root")
    command = ["unshare", "-m", "sh", "-c", f'{ALONE} && exec "$0" -c "$1"', sys.executable, TINY]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120 * pace()).stdout
    assert out.startswith("LaunchError no real ranks: process"), out
    assert "/dev/shm has 0 KiB free of 64" in out and "--shm-size" in out and "pip install" not in out
    assert float(out.split()[-1]) < SOON * pace()


@pytest.mark.parametrize("which", ["the rank", "its watcher"])
def test_a_process_that_is_killed_while_it_starts(which, own_job, monkeypatch):
    hear, killed = starting.Start._hear, []

    def hear_and_kill(self, channel):
        hear(self, channel)
        if not killed:
            killed.append(self.people[channel][which == "its watcher"])
            os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.5)  # mpirun ends the others before they have started

    monkeypatch.setattr(starting.Start, "_hear", hear_and_kill)
    said = refused()
    if which == "the rank":
        assert "was killed by SIGKILL while MPI started" in said, said
        assert "memory runs out" in said
    noticed_first = (  # by chance: when one is killed, mpirun ends the others, and then itself
        f"process {killed[0]}, one of 2 ranks, was",
        "one of 2 ranks, ended without a word while MPI started",
        "ended with status 9",
    )
    assert any(words in said for words in noticed_first), said
    assert "pip install" not in said
    monkeypatch.undo()
    assert launch(lambda comm: comm.rank, 2, world="mpi").results == [0, 1]


def test_mpirun_that_ends_is_told_with_its_last_words(mpirun):
    mpirun("echo there are not enough slots >&2; exit 7")
    said = refused()
    assert "mpirun ended with status 7 when 0 of 2 ranks had started" in said and "not enough slots" in said
    assert "See whether MPI works by itself: " in said and "pip install" not in said
    mpirun("kill -9 $$")
    assert "mpirun was killed by SIGKILL when 0 of 2" in refused()
    mpirun('exec 2>&1; shift 2; exec "$1" -c "import no_such_module"')
    assert "ModuleNotFoundError" in refused()


def test_mpirun_that_does_nothing_is_not_waited_for(mpirun, monkeypatch):
    mpirun("exec sleep 100")
    monkeypatch.setattr(starting, "SILENT_SECONDS", 0.5)
    assert "0 of 2 processes" in refused()
    mpirun("kill -STOP $$")
    assert "`kill -CONT` lets a process go on" in refused()


COMPUTES = """
import time
end = time.monotonic() + 2
while time.monotonic() < end:
    pass
"""


def test_slow_is_not_dead(mpirun, monkeypatch):
    """As long as processes compute, or mpirun says something, they may take their time."""
    monkeypatch.setattr(starting, "SILENT_SECONDS", 1.0)
    mpirun(f"{sys.executable} -c '{COMPUTES}' \"$@\"; exit 5")
    assert "status 5" in refused()
    mpirun("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done; exit 6")
    assert "status 6" in refused()
    monkeypatch.setattr(starting, "START_SECONDS", 1.0)
    mpirun("while true; do echo on; sleep 0.2; done")
    assert "0 of 2 processes" in refused()


def test_the_mpirun_of_another_mpi_is_told(mpirun):
    """Then every process is rank 0 of 1."""
    mpirun('shift 2; "$@" & "$@"; wait')
    assert "they see [(0, 1), (0, 1)]" in refused()


def test_without_mpirun_it_is_told_how_to_get_one(own_job, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    monkeypatch.setenv("PATH", "")
    assert "pip install mpich" in refused()
    assert not list(tmp_path.glob("ranks-*"))


def test_no_place_for_the_socket_is_told(own_job, monkeypatch, tmp_path):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(
        starting.tempfile if hasattr(starting, "tempfile") else __import__("tempfile"), "tempdir", str(deep)
    )
    assert "too long" in refused()
