"""torchrun --nproc-per-node 2 tensor_parallel.py model.pt    (or with python: 2 ranks)"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.tensor.parallel as tp
from torch import nn
from torch.distributed.tensor import Shard
from torch.multiprocessing import start_processes

STEPS, BATCH, TOKENS, WIDTH, RATE = 60, 4, 8, 16, 0.5
PLAN = {  # norms and what is between the layers: cut along the tokens
    "norm": tp.SequenceParallel(sequence_dim=1),
    "wide": tp.ColwiseParallel(input_layouts=Shard(1)),
    "narrow": tp.RowwiseParallel(output_layouts=Shard(1)),
}


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.wide = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.narrow(nn.functional.gelu(self.wide(self.norm(x))))


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # the ranks of a group: one model, the same batches
    mesh = dist.init_device_mesh("cpu", (ranks,))
    model = tp.parallelize_module(FeedForward(), mesh, PLAN)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        x = torch.randn(BATCH, TOKENS, WIDTH)
        mine = x.chunk(ranks, 1)[rank]  # a part of the tokens; loss: of all
        loss = (model(mine) - mine.flip(-1).tanh()).square().sum() / x.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss.detach_())
    full = {name: part.full_tensor() for name, part in model.state_dict().items()}
    if rank == 0:
        shape = tuple(model.wide.weight.to_local().shape)
        print(f"{ranks} ranks, {STEPS} steps: loss {loss:.3f}; {shape} a rank")
        torch.save(full, sys.argv[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
