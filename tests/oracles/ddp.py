"""DistributedDataParallel: the model, the batches and the optimizer of tests/data_parallel/test_ddp.py."""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from reference.models import MLP, Data, batch, digits, loss_sum, share

from . import oracle

SIZES, SIZE, STEPS = (64, 24, 24, 24, 10), 20, 4  # batches of 20: the ranks have 7, 7 and 6 samples
MIB = 2**20


def model_and_optimizer() -> tuple[nn.Module, torch.optim.Optimizer]:
    """What all ranks of both programs begin with."""
    model = MLP(SIZES, seed=0)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def my_batch(step: int, rank: int, ranks: int) -> Data:
    """This rank's share of a step."""
    return batch(digits(), SIZE, step, rank=rank, ranks=ranks)


def flat(tensors) -> torch.Tensor:
    """All in one vector, copied."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def mean_over_samples(ddp: nn.Module, ranks: int) -> None:
    """From DDP's mean over ranks of the local sums to the mean over all samples."""
    for parameter in ddp.parameters():
        parameter.grad.mul_(ranks / SIZE)


@oracle
def ddp_training(rank: int, ranks: int) -> dict:
    """Losses, the gradient of each step, the parameters in the end."""
    model, optimizer = model_and_optimizer()
    ddp, losses, found = DistributedDataParallel(model), [], []
    for step in range(STEPS):
        total, _ = loss_sum(ddp, my_batch(step, rank, ranks))
        optimizer.zero_grad()
        total.backward()
        mean_over_samples(ddp, ranks)
        total = total.detach()
        dist.all_reduce(total)
        losses.append(total.item() / SIZE)
        found.append(flat(parameter.grad for parameter in model.parameters()))
        optimizer.step()
    return {"losses": losses, "gradients": found, "parameters": flat(model.parameters())}


@oracle
def ddp_no_sync(rank: int, ranks: int) -> torch.Tensor:
    """The gradient of one step in 3 micro-batches, of which the last synchronises."""
    model, _ = model_and_optimizer()
    ddp, mine = DistributedDataParallel(model), my_batch(0, rank, ranks)
    for k in range(3):
        part = Data(*(share(each, k, 3) for each in mine))
        if k < 2:
            with ddp.no_sync():
                loss_sum(ddp, part)[0].backward()
        else:
            loss_sum(ddp, part)[0].backward()
    mean_over_samples(ddp, ranks)
    return flat(parameter.grad for parameter in model.parameters())


class Shuffled(nn.Module):
    """Layers of one size that are used in another order than they are listed in."""

    def __init__(self, order=(2, 0, 3, 1)):
        super().__init__()
        self.order, self.layers = order, nn.ModuleList(nn.Linear(64, 64, bias=False) for _ in order)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [n, 64] -> [n, 64]."""
        for number in self.order:
            x = self.layers[number](x)
        return x


@oracle
def ddp_buckets(rank: int, ranks: int) -> list:
    """The names in each bucket of two layers, in the order in which buckets were started, in each of three steps."""
    return _started(2, 3)


def _started(layers_a_bucket: int, steps: int, **options) -> list:
    model, found = Shuffled(), []
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    ddp = DistributedDataParallel(model, bucket_cap_mb=layers_a_bucket * 64 * 64 * 4 / MIB, **options)

    def note(state, bucket):
        found[-1].append([names[id(parameter)] for parameter in bucket.parameters()])
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0])

    ddp.register_comm_hook(None, note)
    for _ in range(steps):
        found.append([])
        ddp(torch.ones(1, 64)).sum().backward()
    return found


@oracle
def ddp_orders(rank: int, ranks: int) -> dict[str, list]:
    """The same for buckets of one layer: by default, where DDP looks for unused parameters, and with a static graph."""
    finds_unused, static = _started(1, 2, find_unused_parameters=True), _started(1, 3, static_graph=True)
    return {"rebuilds": _started(1, 2), "finds unused": finds_unused, "static": static}


@oracle
def ddp_bucket_sizes(rank: int, ranks: int) -> list[list[float]]:
    """MiB of 28 layers of 1 MiB in the order in which they leave in the second step: default, finds unused ones."""

    def sizes(**options) -> list[float]:
        model = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(28)))
        ddp, found = DistributedDataParallel(model, **options), []

        def note(state, bucket):
            found.append(bucket.buffer().nbytes / MIB)
            future = torch.futures.Future()
            future.set_result(bucket.buffer())
            return future

        ddp.register_comm_hook(None, note)
        for _ in range(2):
            found.clear()
            ddp(torch.ones(1, 512)).sum().backward()
        return found

    return [sizes(), sizes(find_unused_parameters=True)]


@oracle
def ddp_gradient_memory(rank: int, ranks: int) -> tuple[bool, bool]:
    """Whether each .grad has memory of its own: by default, and with gradient_as_bucket_view."""

    def own(views: bool) -> bool:
        model = DistributedDataParallel(nn.Linear(2, 2), gradient_as_bucket_view=views)
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
        return all(p.grad.untyped_storage().nbytes() == p.grad.nbytes for p in model.parameters())

    return own(False), own(True)


@oracle
def ddp_no_sync_around(rank: int, ranks: int) -> list[float]:
    """The gradient, of mean 2 over the ranks, with no_sync around the backward pass, the forward pass, and both."""
    found = []
    for forward_inside, backward_inside in ((False, True), (True, False), (True, True)):
        ddp, x = DistributedDataParallel(nn.Linear(1, 1, bias=False)), torch.full((1, 1), rank + 1.0)
        with ddp.no_sync() if forward_inside else nullcontext():
            total = ddp(x).sum()
        with ddp.no_sync() if backward_inside else nullcontext():
            total.backward()
        found.append(ddp.module.weight.grad.item())
    return found


@oracle
def ddp_synchronised_twice(rank: int, ranks: int) -> float:
    """The gradient, of mean 2 over the ranks, after two backward passes that both synchronise."""
    ddp, x = DistributedDataParallel(nn.Linear(1, 1, bias=False)), torch.full((1, 1), rank + 1.0)
    for _ in range(2):
        ddp(x).sum().backward()
    return ddp.module.weight.grad.item()


@oracle
def ddp_unequal_micro_batches(rank: int, ranks: int) -> list[float]:
    """The gradients of two steps without no_sync: of inputs 1 and 10; rank 0 has 2 and 1 micro-batches, others 1, 2."""
    ddp, found = DistributedDataParallel(nn.Linear(1, 1, bias=False)), []
    for x, number in zip((1.0, 10.0), (1, 2) if rank else (2, 1)):
        ddp.zero_grad()
        for _ in range(number):
            ddp(torch.full((1, 1), x)).sum().backward()
        found.append(ddp.module.weight.grad.item())
    return found


@oracle
def ddp_unused_on_some_ranks(rank: int, ranks: int) -> list[list[float]]:
    """Both gradients after three steps, of which rank 0 alone uses the second layer: static graph, finds unused."""

    def gradients(**options) -> list[float]:
        first, second = (nn.Linear(1, 1, bias=False) for _ in range(2))
        ddp = DistributedDataParallel(Branches(first, second), **options)
        for _ in range(3):
            ddp.zero_grad()
            ddp(torch.ones(1, 1), use_second=rank == 0).sum().backward()
        return [weight.grad.item() for weight in ddp.parameters()]

    return [gradients(static_graph=True), gradients(find_unused_parameters=True)]


class Branches(nn.Module):
    """The first layer and, if asked, the second one."""

    def __init__(self, first: nn.Module, second: nn.Module):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: torch.Tensor, use_second: bool) -> torch.Tensor:
        """The sum of what is used."""
        return self.first(x) + self.second(x) if use_second else self.first(x)


@oracle
def ddp_listed_buckets(rank: int, ranks: int) -> list[list[int]]:
    """How many layers of 1 MiB each bucket of the first and second step has: caps of 1 and 4 MiB in a list."""
    model = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(5)))
    ddp, found = DistributedDataParallel(model, bucket_cap_mb_list=[1, 4]), []

    def note(state, bucket):
        found[-1].append(len(bucket.parameters()))
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0])

    ddp.register_comm_hook(None, note)
    for _ in range(2):
        found.append([])
        ddp(torch.ones(1, 512)).sum().backward()
    return found
