"""A model whose layers take a known time on a rank's clock, so that what happens meanwhile can be predicted."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reference import mpi


class Takes(torch.autograd.Function):
    """The identity, which takes some seconds forward and some backward."""

    @staticmethod
    def forward(ctx, x: Tensor, comm, forward: float, backward: float) -> Tensor:
        """Charge the forward seconds."""
        ctx.comm, ctx.seconds = comm, backward
        mpi.compute(comm, forward)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient: Tensor):
        """Charge the backward seconds."""
        mpi.compute(ctx.comm, ctx.seconds)
        return gradient, None, None, None


class TimedLayer(nn.Module):
    """x times the mean of n weights. Its gradient is ready when its backward seconds have passed."""

    def __init__(self, comm, n: int, forward: float, backward: float):
        super().__init__()
        self.weight, self.times = nn.Parameter(torch.ones(n)), (comm, forward, backward)

    def forward(self, x: Tensor) -> Tensor:
        """x [any shape] -> the same shape."""
        return Takes.apply(x * self.weight.mean(), *self.times)


def timed(comm, sizes: Sequence[int], forward: Sequence[float], backward: Sequence[float]) -> nn.Sequential:
    """Layers of so many weights, with so many seconds each."""
    return nn.Sequential(*[TimedLayer(comm, *layer) for layer in zip(sizes, forward, backward, strict=True)])
