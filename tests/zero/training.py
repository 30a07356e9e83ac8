"""What the stages train, the serial program that they must equal, and how far rounding may drive the two apart."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn

from reference.collectives import rounding
from reference.models import GPT, MLP, TINY, Data, batch, digits, gradients, text, train

STEPS, SIZE = 20, 13
LITTLE = TINY._replace(length=8, width=16, layers=3)
MODELS = {  # batches of 13, 13 and 3 samples: uneven, and ranks without any
    "mlp": (lambda: MLP((64, 16, 13, 10)).double(), Data(digits().x[:29].double(), digits().y[:29])),
    "gpt": (lambda: GPT(LITTLE).double(), Data(*(part[:29] for part in text(8)))),
}
OPTIMIZERS = {
    "momentum": lambda named: torch.optim.SGD(named, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda named: torch.optim.AdamW(named, lr=0.01, eps=1e-3),
}
SENSITIVE = {"momentum": 0.1 * 10, "adam": 0.01 * 1000}  # lr / (1 - 0.9), lr / eps: how much a step changes with g


def weights(parameters) -> torch.Tensor:
    """All in one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in parameters])


@cache
def serial_training(model: str, optimizer: str, shift: float = 0.0) -> torch.Tensor:
    """The weights after STEPS steps on one device, from weights that are shifted by a little."""
    make, data = MODELS[model]
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += shift * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    train(module, data, OPTIMIZERS[optimizer](module.named_parameters()), STEPS, SIZE)
    return weights(module.parameters())


def single() -> tuple[nn.Module, Data]:
    """The MLP and its data in float32, as frameworks without float64 train them."""
    make, data = MODELS["mlp"]
    return make().float(), data._replace(x=data.x.float())


@cache
def allowed(model: str, optimizer: str, ranks: int, dtype: str = "float64") -> float:
    """Chapter 1's bound for a sum, for each step, times how much the training itself enlarges a small difference."""
    make, data = MODELS[model]
    module, samples = make(), []
    for i in range(SIZE):
        gradients(module, Data(data.x[i : i + 1], data.y[i : i + 1]))
        samples.append(weights(p.grad.abs() for p in module.parameters()))
    magnitude = torch.stack(samples).mean(0).max().item()
    h = SIZE * 8 + ranks + 3 * sum(p.shape[-1] for p in module.parameters() if p.dim() > 1)
    enlarged = (serial_training(model, optimizer, 1e-6) - serial_training(model, optimizer)).abs().max().item() / 1e-6
    return STEPS * SENSITIVE[optimizer] * max(enlarged, 1) * rounding.allowance(magnitude, dtype, h, h)


def my_batch(model: str, comm, step: int) -> Data:
    """This rank's share of a step."""
    return batch(MODELS[model][1], SIZE, step, rank=comm.rank, ranks=comm.size)


def whole_weights(module: nn.Module, stage) -> torch.Tensor:
    """The weights of a stage 3, gathered."""
    for unit in stage.all_units:
        unit.start_gather(again=False)
        unit.wait()
    found = weights(module.parameters())
    for unit in stage.all_units:
        unit.free()
    return found
