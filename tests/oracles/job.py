"""The job: RANKS processes that run every oracle, one after the other, and leave what they returned in a file each.

    python -m tests.oracles.job FOLDER

Ranks are forked after torch has been imported once, so that the job takes seconds. They meet through a file in FOLDER,
which two sessions at a time do not share, and use one thread each: forked children hang if their parent used more.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from reference.perf.pace import pace

from . import RANKS, __path__, registry

SECONDS = 120 * pace()  # after which the job is ended
ROOT = Path(__file__).resolve().parents[2]


def run_all(folder: str) -> dict[str, list[Any]]:
    """Run the job; of each oracle the list of what the ranks returned. Raises RuntimeError with what went wrong."""
    import torch

    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])  # .ci/machines.py may use it
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.oracles.job", folder]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"the job of the oracles failed:\n{done.stderr[-4000:]}")
    ranks = [torch.load(Path(folder) / f"{rank}.pt", weights_only=False) for rank in range(RANKS)]
    return {name: [found[name] for found in ranks] for name in ranks[0]}


def run_rank(rank: int, folder: str) -> None:
    """What each process does."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    limit = timedelta(seconds=SECONDS / 2)  # if one rank fails, the others do not wait for ever
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS, timeout=limit)
    found = {}
    for name, function in registry.items():
        torch.manual_seed(rank)
        found[name] = function(rank, RANKS)
    torch.save(found, Path(folder) / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def main(folder: str) -> None:
    """Find the oracles, then fork the ranks."""
    import torch.multiprocessing as processes

    importlib.import_module("torch._dynamo")  # each rank's first optimizer would; it takes as long as torch
    for module in pkgutil.iter_modules(__path__):
        if module.name != "job":
            importlib.import_module(f"tests.oracles.{module.name}")
    processes.start_processes(run_rank, (folder,), nprocs=RANKS, start_method="fork")


if __name__ == "__main__":
    main(sys.argv[1])
