"""Ranks of torch.distributed that a test forks: how they meet, and how they part.

They meet as the ranks of torchrun do: at a store that their parent serves, at a port that the system chose for it while
it listened there. A port that is chosen, let go, and taken by rank 0 later may be somebody else's by then. The parent
serves only after it has forked, because a store has threads.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any


def fork(function: Callable, ranks: int, *arguments: Any) -> None:
    """Call function(rank, *arguments) in forked processes that find in their environment what torchrun tells its own.

    Raises what torch.multiprocessing raises if one of them fails.
    """
    from torch.distributed import TCPStore
    from torch.multiprocessing import start_processes

    os.environ.update(MASTER_ADDR="127.0.0.1", WORLD_SIZE=str(ranks), OMP_NUM_THREADS="1")
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"  # the store is the parent's
    ports, port = os.pipe()
    there = start_processes(_rank, (ports, function, arguments), nprocs=ranks, join=False, start_method="fork")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.write(port, f"{store.port:5}".encode() * ranks)
    while not there.join():
        pass


def _rank(number: int, ports: int, function: Callable, arguments: tuple) -> None:
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), MASTER_PORT=os.read(ports, 5).decode().strip())
    function(number, *arguments)


def refuse_ddp_that_outlives_its_group() -> None:
    """From now on destroy_process_group raises RuntimeError while there is a DDP, which could hold its group last.

    The destructor of ProcessGroupGloo waits for the group's threads, and these may need Python's lock to let go of a
    tensor. Whoever frees a group in Python gives the lock away meanwhile. The destructor of DDP's reducer does not.
    Source: https://github.com/pytorch/pytorch/issues/56297
    """
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    destroy = dist.destroy_process_group

    def checked(*arguments: Any) -> None:
        if any(issubclass(type(one), DistributedDataParallel) for one in gc.get_objects()):
            raise RuntimeError("a DDP outlives its process group: to free it later may take for ever")
        destroy(*arguments)

    dist.destroy_process_group = checked
