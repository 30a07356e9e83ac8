"""torch's PostLocalSGDOptimizer and PeriodicModelAverager: some synchronous steps, then averages of the weights."""

from __future__ import annotations

import torch
from torch import nn

from reference.models import MLP, batch, digits

from . import oracle

SIZE, RATE, MOMENTUM = 21, 0.1, 0.9  # 7 samples a rank: torch's averages do not know of unequal shares
SYNCHRONOUS, PERIOD, PHASES = 3, 4, 2


@oracle
def post_local_sgd(rank: int, ranks: int) -> torch.Tensor:
    """The weights after the synchronous steps and the phases, as one vector."""
    from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer
    from torch.nn.parallel import DistributedDataParallel

    model = MLP(seed=0)
    state = PostLocalSGDState(None, None, SYNCHRONOUS, post_local_gradient_allreduce=False)
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(state, post_localSGD_hook)
    warm_up = SYNCHRONOUS + PERIOD - 1  # it averages after this step, counted from 0, and then every PERIOD steps
    averager = PeriodicModelAverager(PERIOD, warm_up)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), RATE, MOMENTUM), averager)
    for step in range(SYNCHRONOUS + PHASES * PERIOD):
        x, y = batch(digits(), SIZE, step, rank=rank, ranks=ranks)
        optimizer.zero_grad()
        nn.functional.cross_entropy(ddp(x), y).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()
