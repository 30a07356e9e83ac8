"""What DDP's communication hooks make of the gradients of a small network: inputs and outputs of every bucket."""

from __future__ import annotations

from . import oracle

STEPS, RANK, SEED = 5, 2, 7


def trained(rank: int, hook, state) -> list[dict]:
    """Train for some steps; what came into the hook in each (the local gradients) and what came out."""
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 10), nn.Tanh(), nn.Linear(10, 8))
    replica, steps = DistributedDataParallel(model), []

    def recorded(state, bucket):
        step = {"before": [g.clone() for g in bucket.gradients()]}
        steps.append(step)

        def keep(future):
            value = future.value()
            value = value[0] if isinstance(value, list) else value
            bucket.buffer().copy_(value)
            step["after"] = [g.clone() for g in bucket.gradients()]
            return bucket.buffer()

        return hook(state, bucket).then(keep)

    replica.register_comm_hook(state, recorded)
    optimizer = torch.optim.SGD(replica.parameters(), lr=0.05)
    for step in range(STEPS):
        x = torch.randn(6, 12, generator=torch.Generator().manual_seed(10 * step + rank))
        replica(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return steps


@oracle
def fp16_hook(rank: int, ranks: int) -> list[dict]:
    """fp16_compress_hook."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    return trained(rank, fp16_compress_hook, None)


@oracle
def bf16_hook(rank: int, ranks: int) -> list[dict]:
    """bf16_compress_hook."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    return trained(rank, bf16_compress_hook, None)


@oracle
def power_sgd_hook(rank: int, ranks: int) -> dict:
    """powerSGD_hook, after two ordinary steps, and the seed from which it draws its first Q."""
    import numpy as np
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    state = PowerSGDState(None, RANK, start_powerSGD_iter=2, min_compression_rate=1, random_seed=SEED)
    steps = trained(rank, powerSGD_hook, state)[2:]
    return {"steps": steps, "seed": int(np.random.RandomState(SEED).randint(1_000_000_000))}
