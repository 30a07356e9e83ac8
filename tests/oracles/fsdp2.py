"""FSDP2: a small network whose layers are units of fully_shard, trained for some steps."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from reference.models import MLP, loss_sum

from . import oracle
from .ddp import SIZE, my_batch

SIZES, STEPS = (64, 24, 13, 10), 4  # 24, 13 and 10 rows on 3 ranks: even, 5 5 3 and 4 4 2


def network() -> nn.Module:
    """What both programs begin with."""
    return MLP(SIZES, seed=0).double()


@oracle
def fsdp2_training(rank: int, ranks: int) -> dict:
    """Of each step the norm of the gradient, in the end this rank's shards, and the whole weights."""
    model, mesh = network(), init_device_mesh("cpu", (ranks,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer, norms = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-3), []
    for step in range(STEPS):
        data = my_batch(step, rank, ranks)
        total, _ = loss_sum(model, data._replace(x=data.x.double()))
        optimizer.zero_grad()
        total.backward()
        for parameter in model.parameters():  # FSDP2 has divided the ranks' sums by their number
            parameter.grad.mul_(ranks / SIZE)
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor().item())
        optimizer.step()
    shards = [parameter.to_local().detach() for parameter in model.parameters()]
    return {"norms": norms, "shards": shards, "weights": [p.full_tensor().detach() for p in model.parameters()]}


@oracle
def fsdp2_optimizer_first(rank: int, ranks: int) -> list[bool]:
    """Of each weight whether a step of an optimizer that was built before fully_shard has changed it."""
    torch.manual_seed(0)  # else each rank shards weights of its own
    model = nn.Linear(3, 6)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return [not torch.equal(old, new.full_tensor()) for old, new in zip(before, model.parameters(), strict=True)]


@oracle
def fsdp2_sums_of_micro_batches(rank: int, ranks: int) -> dict[str, float]:
    """A weight's gradients 256, 1, 1, 1 and 1 in 16 bits, added up before ranks exchange them, by where they meet."""
    found = {}
    for name, meet in (("in 32 bits", torch.float32), ("in 16 bits", None)):
        layer = nn.Linear(1, ranks, bias=False)
        fully_shard(layer, mesh=init_device_mesh("cpu", (ranks,)), mp_policy=MixedPrecisionPolicy(torch.bfloat16, meet))
        for k, x in enumerate((256.0, 1.0, 1.0, 1.0, 1.0)):
            layer.set_requires_gradient_sync(k == 4)
            layer(torch.full((1, 1), x)).sum().backward()
        found[name] = layer.weight.grad.to_local().item()
    return found
