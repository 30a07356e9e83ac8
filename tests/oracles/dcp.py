"""torch.distributed.checkpoint over gloo, in its safetensors format: it saves, and it loads what we have saved."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from reference.checkpoint import at, flat_range, newest, save
from reference.worlds import launch

from . import oracle

CUTS = {"rows": Shard(0), "columns": Shard(1), "whole": Replicate()}


def values(name: str) -> torch.Tensor:
    """A tensor of 7 rows and 5 columns, of which 3 ranks have unequal shares."""
    return torch.arange(35.0).reshape(7, 5) + 100 * list(CUTS).index(name)


def state(mesh, factor: float) -> dict:
    return {name: distribute_tensor(factor * values(name), mesh, [cut]) for name, cut in CUTS.items()}


def ours(comm, folder: str) -> None:
    """Saved by 4 ranks, each tensor cut in another way than torch wants it; `flat` in several boxes a rank."""
    first, after = 35 * comm.rank // 4, 35 * (comm.rank + 1) // 4
    column, end = 5 * comm.rank // 4, 5 * (comm.rank + 1) // 4
    flat = {
        name: flat_range(values(name).reshape(-1)[first:after].clone(), (7, 5), first) for name in ("rows", "whole")
    }
    save(comm, folder, 3, flat | {"columns": at(values("columns")[:, column:end].clone(), (7, 5), (0, column))})


@oracle
def dcp_checkpoint(rank, ranks):
    """(the files that torch writes, what torch has loaded of ours: its local tensors)."""
    mesh = init_device_mesh("cpu", (ranks,))
    where = [None]
    with TemporaryDirectory() as folder:
        if rank == 0:
            where = [folder]
            launch(ours, 4, folder)
        dist.broadcast_object_list(where)
        theirs = Path(where[0]) / "theirs"
        dcp.save(state(mesh, 1.0), storage_writer=HuggingFaceStorageWriter(str(theirs), save_distributed=True))
        files = {path.name: path.read_bytes() for path in theirs.iterdir()} if rank == 0 else {}
        found = state(mesh, 0.0)
        dcp.load(found, storage_reader=HuggingFaceStorageReader(str(newest(where[0]))))
        dist.barrier()
    return files, {name: tensor.to_local() for name, tensor in found.items()}
