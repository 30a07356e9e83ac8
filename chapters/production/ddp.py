"""torchrun --nproc-per-node 2 ddp.py model.pt    (or: python ddp.py model.pt, which forks two ranks)"""

import contextlib
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing import start_processes

STEPS, BATCH, MICRO_BATCHES, RATE = 20, 50, 3, 0.05
loss_sum = nn.MSELoss(reduction="sum")


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))


def share(step, rank=0, ranks=1):  # of the global batch of this step
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 8, generator=draw)[rank::ranks]
    return x, x.sum(1, keepdim=True).tanh()


def backward(model, x, y):
    total = torch.tensor(float(len(x)))
    dist.all_reduce(total)  # the samples of all ranks: shares may be unequal
    for k in range(MICRO_BATCHES):  # no_sync is around forward passes, too
        with model.no_sync() if k < MICRO_BATCHES - 1 else contextlib.nullcontext():
            loss = loss_sum(model(x[k::MICRO_BATCHES]), y[k::MICRO_BATCHES])
            (loss * dist.get_world_size() / total).backward()  # DDP divides by it


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = nn.parallel.DistributedDataParallel(build(), bucket_cap_mb=25)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        backward(model, *share(step, rank, ranks))
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        x, y = share(STEPS)  # new samples, for the module alone
        loss = loss_sum(model.module(x), y) / len(x)
        print(f"{ranks} ranks, {STEPS} steps: loss {loss:.3f} on new samples")
        torch.save([model.module.state_dict(), optimizer.state_dict()], sys.argv[1])
    del model  # DDP must be freed before its group: else it may wait for ever
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
