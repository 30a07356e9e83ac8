"""torchrun --nproc-per-node 4 activation_memory.py        (or with python: 2 ranks)"""

import os
import tempfile
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import start_processes
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

BLOCKS, WIDTH, BATCH, STEPS = 6, 64, 48, 8
DEAR = [
    torch.ops.aten.addmm.default,
    torch.ops.aten.mm.default,
]  # kept, by operation
WAYS = "keep", "full", "selective", "offload"
again = partial(checkpoint, use_reentrant=False)
matrices_stay = partial(create_selective_checkpoint_contexts, DEAR)


class Block(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.way = way
        inside = nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        self.inside = nn.Sequential(nn.LayerNorm(WIDTH), *inside, nn.Dropout(0.1))

    def forward(self, x):
        match self.way:
            case "full":
                return x + again(self.inside, x)
            case "selective":
                return x + again(self.inside, x, context_fn=matrices_stay)
            case "offload":  # on a GPU: pin_memory=True
                with torch.autograd.graph.save_on_cpu():
                    return x + self.inside(x)
        return x + self.inside(x)


def build(way):
    torch.manual_seed(0)
    return nn.Sequential(*(Block(way) for _ in range(BLOCKS)), nn.Linear(WIDTH, 1))


def train(way, rank=0, ranks=1, shard=lambda module: module):
    model = build(way)
    for module in (*model, model):
        shard(module)
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.001), []
    for step in range(STEPS):
        torch.manual_seed(100 * step + rank)  # the masks of dropout
        x = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(step))
        x = x[rank::ranks]
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).tanh())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for way in WAYS:
        losses = torch.tensor(train(way, rank, ranks, fully_shard))
        dist.all_reduce(losses)
        if rank == 0:
            print(way, *(f"{loss:.7f}" for loss in losses / ranks))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
