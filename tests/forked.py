"""Processes forked from one that has imported torch and what runs on several processes with it: once a session.

Python's own forkserver, which has its modules imported beforehand. What is forked may fork ranks: it has started no
threads. The compiler, too, would be imported by each rank (by the first optimizer) where .ci/lean does not prevent it.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from reference.perf.pace import pace

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "torch._dynamo",
        "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook",
        "torch.distributed.device_mesh",
        "torch.distributed.optim",
        "torch.distributed.pipelining",
        "torch.nn.parallel",
    ]
)


def call(function: Callable, *arguments: Any, seconds: float = 60.0) -> str:
    """Call a function of a module in a process of its own, with one thread; return what it and its children print.

    seconds: after which it is ended with all its children, times the pace of the machine; a test may take 180. Raises
    RuntimeError with the end of what was said to standard error if it fails, and with the stacks of all if it is late.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("1", "2", "stacks")]
        for file in files:
            file.touch()
        child = FORKS.Process(target=_there, args=(folder, function, arguments))
        child.start()
        try:
            child.join(seconds * pace())
            late = child.exitcode is None
            where = _stacks(psutil.Process(child.pid), files[2]) if late else ""
        finally:
            child.kill()
            with contextlib.suppress(ProcessLookupError):  # where nobody is left
                os.killpg(child.pid, signal.SIGKILL)
            child.join()
        printed, complained = (file.read_text() for file in files[:2])
    if late or child.exitcode:
        how = f"was not done after {seconds:g} s" if late else "failed"
        raise RuntimeError(f"{function.__name__}{arguments} {how}:\n{complained[-4000:]}{where}")
    return printed


def _stacks(head: psutil.Process, file: Path) -> str:
    """Where each thread of a process and of its descendants is, a process at a time, in the order of their start."""
    found = ""
    for process in [head, *sorted(head.children(recursive=True), key=lambda child: child.create_time())]:
        start = file.stat().st_size
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGUSR1)
        found += f"\nProcess {process.pid} of {head.pid} and its children:\n{_said(file, start)}"
    return found


def _said(file: Path, start: int) -> str:
    """What is said after the first `start` bytes of a file, until nothing more comes: two seconds at most."""
    said = b""
    for _ in range(20):
        time.sleep(0.1)
        before, said = said, file.read_bytes()[start:]
        if said and said == before:
            break
    return said.decode()


def _there(folder: str, function: Callable, arguments: tuple) -> None:
    import torch

    os.setpgid(0, 0)  # one group with all that it will fork
    faulthandler.register(signal.SIGUSR1, os.open(f"{folder}/stacks", os.O_WRONLY | os.O_APPEND))
    torch.set_num_threads(1)
    for number in (1, 2):
        os.dup2(os.open(f"{folder}/{number}", os.O_WRONLY), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", 1, closefd=False), os.fdopen(2, "w", 1, closefd=False)
    try:
        function(*arguments)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
