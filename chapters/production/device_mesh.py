"""torchrun --nproc-per-node 4 device_mesh.py model.pt    (or with python: 4 ranks)"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.tensor.parallel as tp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import start_processes

STEPS, BATCH, BLOCKS, RATE, CLIP = 20, 48, 2, 0.1, 1.5
PLAN = {"0": tp.ColwiseParallel(), "2": tp.RowwiseParallel()}  # of a block
loss_sum = nn.MSELoss(reduction="sum")


def build():
    torch.manual_seed(0)
    sizes = [(nn.Linear(8, 32), nn.Linear(32, 8)) for _ in range(BLOCKS)]
    return nn.Sequential(*(nn.Sequential(a, nn.GELU(), b) for a, b in sizes))


def share(step, copy=0, copies=1):  # the ranks of a copy have the same samples
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 8, generator=draw)[copy::copies]
    return x, x.sum(1, keepdim=True).tanh().expand_as(x)


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    copy, copies = mesh["dp"].get_local_rank(), mesh["dp"].size()
    model = build()
    for block in model:  # tp first: dp shards what tp has left of a layer
        tp.parallelize_module(block, mesh["tp"], PLAN)
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)  # after sharding
    for step in range(STEPS):
        x, y = share(step, copy, copies)
        (loss_sum(model(x), y) * copies / BATCH).backward()  # FSDP divides by it
        norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP).full_tensor()
        optimizer.step()
        optimizer.zero_grad()
    full = {name: part.full_tensor() for name, part in model.state_dict().items()}
    if dist.get_rank() == 0:
        shape = tuple(model[0][0].weight.to_local().shape)
        print(f"{copies} copies: {shape} a rank; the last norm {norm:.3f}")
        torch.save(full, sys.argv[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (4, meet), nprocs=4, start_method="fork")
