"""Run a script of chapters/production on a few processes, as torchrun does, but quicker: ranks are forked."""

import os
import runpy
import socket
import sys
from pathlib import Path

import pytest

from .. import forked

FOLDER = Path(__file__).resolve().parents[2] / "chapters/production"
ONE_PROCESS = pytest.mark.xdist_group("real ranks")  # imports torch for all scripts, and for the oracles


def printed(script: str, ranks: int, *arguments: str) -> list[str]:
    """The lines that all ranks print. Raises RuntimeError with the end of what they complained about if one failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return forked.call(script_on_ranks, str(FOLDER / script), ranks, port, *arguments).splitlines()


def script_on_ranks(script: str, ranks: int, port: int, *arguments: str) -> None:
    """Run a script on each of the ranks, with what torchrun tells them."""
    from torch.multiprocessing import start_processes

    sys.argv = [script, *arguments]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks), OMP_NUM_THREADS="1")
    start_processes(_rank, (script,), nprocs=ranks, start_method="fork")


def _rank(number: int, script: str) -> None:
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number))
    runpy.run_path(script, run_name="__main__")
