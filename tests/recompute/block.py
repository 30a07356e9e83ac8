"""A small block of the GPT with its input and the gradient of its output, recorded once for all tests."""

from functools import cache

import torch

from reference.models import TINY, generator
from reference.models.gpt import Block
from reference.models.seeds import seeded
from reference.perf.roofline import device
from reference.recompute.graph import recorded

DEVICE = device("A100 SXM")


@cache
def block():
    """(block, x, dy); the block has gradients to make, and x, too."""
    with seeded(3):
        made = Block(TINY)
    random = generator(4)
    x, dy = (torch.randn(2, 16, TINY.width, generator=random) for _ in range(2))
    return made, x.requires_grad_(), dy


@cache
def graph():
    """Its graph."""
    made, x, dy = block()
    return recorded(made, x, DEVICE, dy)


@cache
def expected():
    """Gradients by autograd, by name."""
    made, x, dy = block()
    inputs = {"x": x, **dict(made.named_parameters())}
    return dict(zip(inputs, torch.autograd.grad(made(x), list(inputs.values()), dy)))
