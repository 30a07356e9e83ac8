"""torchrun --nproc-per-node 2 context_parallel.py model.pt    (or with python: 2 ranks)"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.multiprocessing import start_processes

STEPS, BATCH, TOKENS, WIDTH, HEADS, WORDS = 60, 4, 16, 16, 4, 4
HALF = torch.arange(TOKENS // 2)


class Turn(torch.autograd.Function):  # [b, a, s, d]: cut one dim, join another
    @staticmethod
    def forward(ctx, x, cut, join):
        ctx.back = join, cut
        send = torch.stack(x.chunk(dist.get_world_size(), cut))
        come = torch.empty_like(send)
        dist.all_to_all_single(come, send)
        return torch.cat(come.unbind(), join)

    @staticmethod
    def backward(ctx, dy):
        return Turn.apply(dy, *ctx.back), None, None


class Model(nn.Module):  # one layer: it looks back, and repeats what it read
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(WORDS, WIDTH)
        self.place = nn.Embedding(TOKENS, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, x, places, turn=Turn.apply):
        qkv = self.qkv(self.token(x) + self.place(places))
        parts = qkv.unflatten(2, (3, HEADS, -1)).transpose(1, 3).unbind(2)
        q, k, v = (turn(part, 1, 2) for part in parts)  # all tokens, my heads
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(turn(o, 2, 1).transpose(1, 2).flatten(2))


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # one model and the same sequences on all ranks
    model, mine = Model(), torch.arange(TOKENS).chunk(ranks)[rank]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(STEPS):
        x = torch.randint(WORDS, (BATCH, TOKENS // 2)).repeat(1, 2)
        y = x.roll(-1, 1).index_fill(1, HALF, -100)  # shifted, then cut
        total = F.cross_entropy(
            model(x[:, mine], mine).mT, y[:, mine], reduction="sum"
        )
        loss = total / (y >= 0).sum()  # of all ranks' targets
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
    dist.all_reduce(loss.detach_())
    if rank == 0:
        print(f"{ranks} ranks, {len(mine)} tokens each: loss {loss:.3f}")
        torch.save(model.state_dict(), sys.argv[1])
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
