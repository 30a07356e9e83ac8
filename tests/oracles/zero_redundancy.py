"""DistributedDataParallel with ZeroRedundancyOptimizer: the optimizer's state is cut by whole parameters."""

from __future__ import annotations

import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from reference.models import MLP, loss_sum

from . import oracle
from .ddp import SIZES, STEPS, flat, mean_over_samples, my_batch

ADAM = {"lr": 0.01, "eps": 1e-3}


@oracle
def zero_redundancy_training(rank: int, ranks: int) -> dict:
    """The weights after some steps; of how many elements this rank has state."""
    model = MLP(SIZES, seed=0).double()
    ddp = DistributedDataParallel(model)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **ADAM)
    for step in range(STEPS):
        data = my_batch(step, rank, ranks)
        total, _ = loss_sum(ddp, data._replace(x=data.x.double()))
        optimizer.zero_grad()
        total.backward()
        mean_over_samples(ddp, ranks)
        optimizer.step()
    kept = sum(state["exp_avg"].numel() for state in optimizer.optim.state.values())
    return {"weights": flat(model.parameters()), "elements": kept}
