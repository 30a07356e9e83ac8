"""The serial GPT that tensor parallelism has to equal, and how far rounding may drive the two apart."""

import torch

from reference import models
from reference.collectives.rounding import growth
from reference.models import Config, Data, generator, loss_sum
from reference.tensor_parallel import GPT, whole
from reference.tensor_parallel.dropout import Masks

SMALL = Config(vocabulary=32, length=24, width=32, heads=8, layers=2)
S = 24  # tokens: 1, 2, 3, 4 and 8 divide it
SEED = 5  # of dropout


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def serial_gpt(config=SMALL, seed=1):
    """Biases and gains start at 0 and 1, where a mistake would not show."""
    model = models.GPT(config, seed).double()
    for k, parameter in enumerate(model.parameters()):
        parameter.data += 0.1 * numbers(*parameter.shape, seed=k)
    return model


def tokens(config=SMALL, b=2, s=S):
    data = torch.randint(config.vocabulary, (2, b, s), generator=generator(3))
    data[1, 0, 3] = models.IGNORED
    return Data(*data)


def serial_loss_and_gradients(config=SMALL):
    model = serial_gpt(config)
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        total, _ = loss_sum(model, tokens(config))
    total.backward()
    return total.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def parallel_loss_and_gradients(comm, config=SMALL, how=None):
    """The loss, all gradients put together again, and the shapes of the parameters on this rank."""
    model = GPT(comm, serial_gpt(config), Masks(comm, SEED, exact=True), **(how or {}))
    total, _ = model.loss_sum(tokens(config))
    total.backward()
    found = {name: whole(comm, parameter, parameter.grad) for name, parameter in model.named_parameters()}
    return total.detach(), found, {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def allowed(config, ranks, dtype="float64"):
    """Relative to the largest magnitude: each number passes through at most so many additions, forward and backward."""
    each = 8 * config.width + config.length + config.vocabulary + ranks
    return growth(4 * config.layers * each, dtype)


def off(found, expected):
    """The largest error of any tensor, relative to its largest element."""
    assert set(found) == set(expected)
    return max(
        float((found[name] - expected[name]).detach().abs().max() / expected[name].detach().abs().max())
        for name in expected
    )
