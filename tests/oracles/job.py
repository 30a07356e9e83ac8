"""The job: RANKS processes that run every oracle, one after the other, and leave what they returned in a file each.

Ranks are forked (tests/ranks.py) after torch has been imported once (tests/forked.py), so that the job takes seconds.
They use one thread each: forked children hang if their parent used more.
"""

from __future__ import annotations

import importlib
import pkgutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from reference.perf.pace import pace

from .. import forked, ranks
from . import RANKS, __path__, registry

SECONDS = 90  # after which the job is ended, times the pace


def run_all(folder: str) -> dict[str, list[Any]]:
    """Run the job; of each oracle the list of what the ranks returned. Raises RuntimeError with what went wrong."""
    import torch

    forked.call(run_ranks, folder, seconds=SECONDS)
    returned = [torch.load(Path(folder) / f"{rank}.pt", weights_only=False) for rank in range(RANKS)]
    return {name: [found[name] for found in returned] for name in returned[0]}


def run_rank(rank: int, folder: str) -> None:
    """What each process does."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    ranks.refuse_ddp_that_outlives_its_group()
    limit = timedelta(seconds=SECONDS * pace() / 2)  # if one rank fails, the others do not wait for ever
    dist.init_process_group("gloo", timeout=limit)
    found = {}
    for name, function in registry.items():
        torch.manual_seed(rank)
        found[name] = function(rank, RANKS)
    torch.save(found, Path(folder) / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def run_ranks(folder: str) -> None:
    """Find the oracles, then fork the ranks."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "job":
            importlib.import_module(f"tests.oracles.{module.name}")
    ranks.fork(run_rank, RANKS, folder)
