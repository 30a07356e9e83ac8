"""PowerSGD, then post-local SGD, with torch alone: torchrun --nproc_per_node 4 chapters/production/powersgd_hook.py"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    powerSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import (
    PeriodicModelAverager,
)
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS, FIRST = 60, 10  # the first steps are those of ordinary data parallelism


def replica():
    torch.manual_seed(0)
    return DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    )


def train(model, optimizer):
    teacher = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)) / 8
    data = torch.Generator().manual_seed(
        2 + dist.get_rank()
    )  # each rank draws samples of its own
    for _ in range(STEPS):
        x = torch.randn(32, 64, generator=data)
        loss = (model(x) - x @ teacher).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def with_power_sgd():
    model = replica()
    state = PowerSGDState(
        None, matrix_approximation_rank=4, start_powerSGD_iter=FIRST
    )
    model.register_comm_hook(state, powerSGD_hook)
    loss = train(model, torch.optim.SGD(model.parameters(), 1.0))
    return loss, state.compression_stats()[0]


def with_post_local_sgd(period=4):
    model = replica()
    alone = dist.new_subgroups(1)[
        0
    ]  # None: the ranks of a node go on averaging their gradients
    model.register_comm_hook(
        PostLocalSGDState(None, alone, FIRST), post_localSGD_hook
    )
    averager = PeriodicModelAverager(period, warmup_steps=FIRST)
    return train(
        model,
        PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), 1.0), averager),
    )


def main():
    dist.init_process_group("gloo")  # nccl where there are GPUs
    loss, ratio = with_power_sgd()
    local = with_post_local_sgd()
    if dist.get_rank() == 0:
        print(
            f"PowerSGD: loss {loss:.3f}, {ratio:.1f} times fewer numbers; post-local SGD: loss {local:.3f}"
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
