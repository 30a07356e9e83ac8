"""Processes forked from one that has imported torch and what runs on several processes with it: once a session.

Python's own forkserver, which has its modules imported beforehand. What is forked may fork ranks: it has started no
threads. The compiler, too, would be imported by each rank (by the first optimizer) where .ci/lean does not prevent it.
"""

import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def call(function: Callable, *arguments: Any, seconds: float = 100.0) -> str:
    """Call a function of a module in a process of its own, with one thread; return what it and its children print.

    seconds: after which it is ended, times the pace of the machine. Raises RuntimeError with the end of what was said
    to standard error if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        child = FORKS.Process(target=_there, args=(folder, function, arguments))
        child.start()
        child.join(seconds * pace())
        late = child.exitcode is None
        if late:
            child.terminate()
            child.join()
        said = [(Path(folder) / name).read_text() if (Path(folder) / name).exists() else "" for name in ("1", "2")]
    if late or child.exitcode:
        how = f"was not done after {seconds:g} s" if late else "failed"
        raise RuntimeError(f"{function.__name__}{arguments} {how}:\n{said[1][-4000:]}")
    return said[0]


def _there(folder: str, function: Callable, arguments: tuple) -> None:
    import torch

    torch.set_num_threads(1)
    for number in (1, 2):
        os.dup2(os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", 1, closefd=False), os.fdopen(2, "w", 1, closefd=False)
    try:
        function(*arguments)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
