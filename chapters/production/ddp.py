"""torchrun --nproc-per-node 2 ddp.py model.pt    (or: python ddp.py model.pt, which forks two ranks)"""

import contextlib
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, MICRO_BATCHES, RATE = 20, 50, 3, 0.05
loss_sum = nn.MSELoss(reduction="sum")


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))


def samples(number, seed):
    x = torch.randn(number, 8, generator=torch.Generator().manual_seed(seed))
    return x, x.sum(1, keepdim=True).sin()


def global_batch(x, y, step):  # a function of the step, the same on every rank
    generator = torch.Generator().manual_seed(step)
    chosen = torch.randperm(len(x), generator=generator)[:BATCH]
    return x[chosen], y[chosen]


def train_step(model, optimizer, x, y):
    total = torch.tensor(float(len(x)))
    dist.all_reduce(total)  # the samples of all ranks: shares may be unequal
    parts = list(zip(x.chunk(MICRO_BATCHES), y.chunk(MICRO_BATCHES)))
    for k, (inputs, targets) in enumerate(parts):
        last = k == len(parts) - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss = loss_sum(model(inputs), targets)  # forward inside no_sync, too
            (loss * dist.get_world_size() / total).backward()  # DDP divides by it
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def evaluate(module, x, y):  # not the wrapper, which communicates in forward
    sums = torch.stack([loss_sum(module(x), y), torch.tensor(float(len(x)))])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main(path, **where):
    dist.init_process_group("gloo", **where)  # on GPUs "nccl"
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(build(), bucket_cap_mb=25)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x, y = samples(1000, seed=1)
    for step in range(STEPS):
        mine = (each[rank::ranks] for each in global_batch(x, y, step))
        train_step(model, optimizer, *mine)
    test = (each[rank::ranks] for each in samples(201, seed=2))
    loss = evaluate(model.module, *test)
    if rank == 0:  # one rank writes; a crash in between keeps the old file
        print(f"{ranks} ranks, {STEPS} steps: loss {loss:.3f} on new samples")
        state = {"model": model.module.state_dict(), "step": STEPS}
        torch.save(state | {"optimizer": optimizer.state_dict()}, f"{path}.new")
        os.replace(f"{path}.new", path)
    dist.barrier()
    dist.destroy_process_group()


def forked(rank, path, meet):
    main(path, init_method=f"file://{meet}/store", rank=rank, world_size=2)


if __name__ == "__main__":
    torch.set_num_threads(1)
    where = os.path.abspath(sys.argv[1])
    if "RANK" in os.environ:
        main(where)
    else:
        with tempfile.TemporaryDirectory() as meet:
            processes.start_processes(forked, (where, meet), 2, start_method="fork")
