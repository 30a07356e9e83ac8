"""DTensor's tensor parallelism: a norm and a feed-forward network, cut by parallelize_module in two ways."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from reference.models import generator

from . import oracle

B, S, H = 2, 12, 24  # 3 ranks divide 12 tokens, 24 and 96 units
COLUMN_AND_ROW = {"wide": ColwiseParallel(), "narrow": RowwiseParallel()}
SEQUENCE_PARALLEL = {
    "norm": SequenceParallel(sequence_dim=1),
    "wide": ColwiseParallel(input_layouts=Shard(1)),
    "narrow": RowwiseParallel(output_layouts=Shard(1)),
}


class NormedFeedForward(nn.Module):
    """What both programs begin with: float64, all parameters drawn."""

    def __init__(self):
        super().__init__()
        self.norm, self.wide, self.narrow = nn.LayerNorm(H), nn.Linear(H, 4 * H), nn.Linear(4 * H, H)
        self.double()
        for k, parameter in enumerate(self.parameters()):
            parameter.data = torch.randn(parameter.shape, generator=generator(k), dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[b, s, h] -> [b, s, h]."""
        return self.narrow(nn.functional.gelu(self.wide(self.norm(x))))


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """x and dy, of all tokens."""
    return tuple(torch.randn(B, S, H, generator=generator(100 + k), dtype=torch.float64) for k in range(2))


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


@oracle
def column_and_row(rank: int, ranks: int) -> dict:
    """Output, gradient of the input, and this rank's gradients of the weights."""
    mesh = init_device_mesh("cpu", (ranks,))
    model = parallelize_module(NormedFeedForward(), mesh, COLUMN_AND_ROW)
    x, dy = inputs()
    x.requires_grad_()
    y = model(x)
    y.backward(dy)
    return {"y": y.detach(), "dx": x.grad, **{name: local(p.grad) for name, p in model.named_parameters()}}


@oracle
def megatron_sequence(rank: int, ranks: int) -> dict:
    """The same with the tokens cut outside of the layers: of output and input this rank's tokens."""
    mesh = init_device_mesh("cpu", (ranks,))
    model = parallelize_module(NormedFeedForward(), mesh, SEQUENCE_PARALLEL)
    x, dy = (whole.chunk(ranks, 1)[rank].clone() for whole in inputs())
    x.requires_grad_()
    y = model(x)
    local(y).backward(dy)
    found = {
        name: p.grad.full_tensor() if "norm" in name or name == "narrow.bias" else local(p.grad)
        for name, p in model.named_parameters()
    }
    return {"y": local(y).detach() + 0, "dx": x.grad, **found}  # + 0: the reduce-scatter is waited for when it is used
