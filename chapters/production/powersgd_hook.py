"""PowerSGD, then post-local SGD: torchrun --nproc_per_node 4 powersgd_hook.py"""

import torch
import torch.distributed as dist
import torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook as local_sgd
import torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook as power_sgd
from torch import nn
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS, FIRST = 60, 10  # the first steps are those of ordinary data parallelism


def replica():
    torch.manual_seed(0)
    layers = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)
    return DistributedDataParallel(nn.Sequential(*layers))


def train(model, optimizer):
    teacher = torch.randn(64, 64, generator=torch.Generator().manual_seed(1)) / 8
    data = torch.Generator().manual_seed(2 + dist.get_rank())  # samples of its own
    for _ in range(STEPS):
        x = torch.randn(32, 64, generator=data)
        loss = (model(x) - x @ teacher).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def with_power_sgd():
    model = replica()
    state = power_sgd.PowerSGDState(None, 4, start_powerSGD_iter=FIRST)  # rank 4
    model.register_comm_hook(state, power_sgd.powerSGD_hook)
    loss = train(model, torch.optim.SGD(model.parameters(), 1.0))
    return loss, state.compression_stats()[0]


def with_post_local_sgd(period=4):
    model = replica()
    alone = dist.new_subgroups(1)[0]  # None: a node's ranks average gradients
    state = local_sgd.PostLocalSGDState(None, alone, FIRST)
    model.register_comm_hook(state, local_sgd.post_localSGD_hook)
    averager = averagers.PeriodicModelAverager(period, warmup_steps=FIRST)
    inner = torch.optim.SGD(model.parameters(), 1.0)
    return train(model, PostLocalSGDOptimizer(inner, averager))


if __name__ == "__main__":
    dist.init_process_group("gloo")  # nccl where there are GPUs
    loss, ratio = with_power_sgd()
    local = with_post_local_sgd()
    if dist.get_rank() == 0:
        print(f"PowerSGD: loss {loss:.3f}, {ratio:.1f} times fewer numbers")
        print(f"post-local SGD: loss {local:.3f}")
    dist.destroy_process_group()
