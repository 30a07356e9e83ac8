"""Processes that must not outlive their use: finding mpirun, ending ranks, and what ranks leave in shared memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from ..perf.pace import pace
from .errors import LaunchError

INSTALL = "real ranks need MPI: pip install mpich mpi4py (or conda install -c conda-forge mpich mpi4py)"
OF_ANOTHER_JOB = ("PMI_", "PMIX_", "MPI_LOCAL", "OMPI_COMM_", "OMPI_UNIVERSE_")  # if we run under mpirun ourselves
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5: more ranks than cores, please
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI 4
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "HYDRA_LAUNCHER": "fork",  # MPICH: on this machine, also inside a Slurm job
    "HYDRA_RMK": "user",
    "MPIR_CVAR_DEFAULT_THREAD_LEVEL": "MPI_THREAD_MULTIPLE",  # MPICH: only then does a rank that waits make way,
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",  # and soon. Where ranks outnumber cores, collectives are many times as fast
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def find_mpirun() -> str:
    """The mpirun beside this Python, or else the one on PATH; LaunchError says how to get one."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpirun")
    if found is None:
        raise LaunchError(f"no mpirun beside {sys.executable} and none on PATH; {INSTALL}")
    return found


def mpirun_command(ranks: int, *command: str) -> list[str]:
    """Start `command` on that many ranks."""
    return [find_mpirun(), "-n", str(ranks), *command]


def environment() -> dict[str, str]:
    """The environment of mpirun: ours with our import path, without traces of a job that we may be part of."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(OF_ANOTHER_JOB)}
    return ours | SETTINGS | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def shared_memory(pids: Iterable[int]) -> set[str]:
    """The files in /dev/shm that these processes have mapped (none where there is no /proc, as on macOS)."""
    files = set()
    for pid in pids:
        with suppress(OSError):
            maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
            files |= {
                line[line.index("/dev/shm/") :].removesuffix(" (deleted)")
                for line in maps.splitlines()
                if "/dev/shm/" in line
            }
    return files


def unlink_shared_memory(pids: Iterable[int]) -> None:
    """Remove the names of the shared memory of these processes; it is freed when the last of them ends."""
    for file in shared_memory(pids):
        with suppress(OSError):
            os.unlink(file)


def kill_groups(groups: Iterable[int]) -> None:
    """SIGKILL to all processes of these process groups."""
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each of these processes."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The processes that this one has started, and those that they have."""
    with suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def wait_gone(pids: Iterable[int], seconds: float = 3.0) -> None:
    """Wait until none of these processes exists any more, at most that long (times the pace of the machine)."""
    deadline = time.monotonic() + seconds * pace()
    while any(map(exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.005)


def exists(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def stopped(pids: Iterable[int]) -> list[int]:
    """Which of these processes are stopped, by SIGSTOP, Ctrl-Z or a debugger."""
    found = []
    for pid in pids:
        with suppress(psutil.Error):
            if psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP):
                found.append(pid)
    return found


def cause_of_death(status: int) -> str:
    """What a wait status says (-1: nobody knows it)."""
    if status == -1:
        return "ended without a word"
    code = os.waitstatus_to_exitcode(status)
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended itself with exit status {code}"


def alive(pid: int) -> bool:
    """Whether there is a process of that number that has not ended, not even as a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def end_mpirun(process: subprocess.Popen) -> None:
    """Let mpirun end by itself when its ranks are gone; help it if it does not."""
    for send_signal in (lambda: None, process.terminate, lambda: os.killpg(process.pid, signal.SIGKILL)):
        with suppress(OSError):
            send_signal()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=pace())
            break
