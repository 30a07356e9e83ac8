"""torchrun --nproc-per-node 2 fully_shard.py model.pt    (or with python: 2 ranks)"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import start_processes

STEPS, BATCH, MICRO_BATCHES, LAYERS, RATE, CLIP = 30, 50, 2, 3, 0.02, 0.5
loss_sum = nn.MSELoss(reduction="sum")


def build():
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(LAYERS)]
    return nn.Sequential(*layers, nn.Linear(8, 1))


def share(step, rank=0, ranks=1):  # of the global batch of this step
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 8, generator=draw)[rank::ranks]
    return x, x.sum(1, keepdim=True).tanh()


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = build()  # on a real model: under torch.device("meta"), filled in later
    for unit in model[:LAYERS]:
        fully_shard(unit)  # freed after its forward pass, gathered again backward
    fully_shard(model)  # the root: what is in no unit, here the last layer
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)  # after sharding
    for step in range(STEPS):
        x, y = share(step, rank, ranks)
        for k in range(MICRO_BATCHES):
            model.set_requires_gradient_sync(k == MICRO_BATCHES - 1)  # whole until
            loss = loss_sum(model(x[k::MICRO_BATCHES]), y[k::MICRO_BATCHES])
            (loss * ranks / BATCH).backward()  # FSDP divides by the ranks
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)  # over all shards
        optimizer.step()
        optimizer.zero_grad()
    held = sum(p.to_local().numel() for p in model.parameters())
    full = {name: part.full_tensor() for name, part in model.state_dict().items()}
    if rank == 0:
        size = sum(whole.numel() for whole in full.values())
        print(f"{ranks} ranks: rank 0 holds {held} of {size} parameters")
        torch.save(full, sys.argv[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
