"""torchrun --nproc-per-node 2 context_parallel.py model.pt"""

import sys

import torch
import torch.distributed as dist
from torch import nn

STEPS, BATCH, TOKENS, WIDTH, HEADS, WORDS = 60, 4, 16, 16, 4, 4
HALF = torch.arange(TOKENS // 2)
loss_sum = nn.CrossEntropyLoss(reduction="sum")  # over the targets of all ranks


class Turn(torch.autograd.Function):  # one dimension cut, another one joined
    @staticmethod
    def forward(ctx, x, cut, join):
        ctx.back = join, cut
        parts = torch.stack(x.chunk(dist.get_world_size(), cut))
        dist.all_to_all_single(parts, parts.clone())
        return torch.cat(parts.unbind(), join)

    @staticmethod
    def backward(ctx, dy):
        return Turn.apply(dy, *ctx.back), None, None


class Model(nn.Module):  # one layer: it looks back, and repeats what it read
    def __init__(self):
        super().__init__()
        self.token, self.place = (nn.Embedding(n, WIDTH) for n in (WORDS, TOKENS))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, x, at, turn=Turn.apply):
        qkv = self.qkv(self.token(x) + self.place(at)).unflatten(2, (3, HEADS, -1))
        q, k, v = turn(qkv, 3, 1).transpose(1, 3).unbind(2)  # all tokens, my heads
        o = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(turn(o, 2, 1).transpose(1, 2).flatten(2))


if __name__ == "__main__":
    dist.init_process_group("gloo")  # "nccl" on GPUs
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # one model and the same sequences on all ranks
    model, mine = Model(), torch.arange(TOKENS).chunk(ranks)[rank]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(STEPS):
        x = torch.randint(WORDS, (BATCH, TOKENS // 2)).repeat(1, 2)
        y = x.roll(-1, 1).index_fill(1, HALF, -100)  # shifted, then cut
        loss = loss_sum(model(x[:, mine], mine).mT, y[:, mine]) / (y >= 0).sum()
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
