"""Run a script of chapters/production on a few processes, as torchrun does, but quicker: ranks are forked."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from reference.perf.pace import pace

FOLDER = Path(__file__).resolve().parents[2] / "chapters/production"
FORKED = """
import os, runpy, sys
import torch.distributed, torch.distributed.device_mesh  # once, before the ranks are forked

def rank(number):
    torch.set_num_threads(1)
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(number)
    runpy.run_path(sys.argv[0], run_name="__main__")

sys.argv = sys.argv[1:]
torch.multiprocessing.start_processes(rank, nprocs=int(os.environ["WORLD_SIZE"]), start_method="fork")
"""


def printed(script: str, ranks: int, *arguments: str) -> list[str]:
    """The lines that all ranks print. Raises RuntimeError with the end of what they complained about if one failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FORKED, str(FOLDER / script), *arguments]
    done = subprocess.run(command, env={**os.environ, **job}, capture_output=True, text=True, timeout=100 * pace())
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()
