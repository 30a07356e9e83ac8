"""What the layers of a model take and leave: seconds, bytes kept, bytes sent. What partition.py cuts by.

Paper     Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019), profile first, too.
Idea      Each layer by itself, on what the layer before gives: its forward pass, then its backward pass. Three ways:

          profile       a Meter counts FLOPs and bytes and reckons seconds for any device. The same on every machine
          stopwatch     the seconds of this machine, medians of several runs
          transformer   by formula, for models that no laptop holds

Kept      is what is alive after the forward pass that was not before: what autograd saved, and the output, which the
          next layer saves as a rule, or the executor keeps. Then the layers' bytes add up to those of the model. (A
          ReLU saves its own output and not its input: behind a linear layer by itself, bytes are counted too many.)
Left out  The loss, and what a kernel needs while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from math import inf

import torch
from torch import Tensor, nn

from ..data_parallel.memory import ADAM, ADAM_MIXED, Recipe, replica
from ..perf.measure import measure
from ..perf.meter import Meter
from ..perf.roofline import Device
from .partition import Layer
from .stages import cut, layers


def profile(model: nn.Module, x: Tensor, device: Device, recipe: Recipe = ADAM) -> list[Layer]:
    """The layers of `model` for a micro-batch x [b, ...], as they would be on `device`.

    recipe: bytes a parameter of weights, gradients and optimizer's state. The model is copied and stays as it is.
    """
    found = []
    for name, layer, given in chain(model, x):
        with Meter(None, device, layer) as meter:
            y = layer(given)
            forward, kept = meter.total.seconds, meter.live["activations"]
            backward_pass(layer, given, y)
        backward = meter.total.seconds - forward
        found.append(Layer(forward, backward, held(layer, recipe), kept, y.nbytes, name))
    return found


def stopwatch(comm, model: nn.Module, x: Tensor, repeat: int = 5, recipe: Recipe = ADAM) -> list[Layer]:
    """The same with this machine's seconds, those of the slowest rank of `comm`; bytes as in profile."""
    unlimited = Device(inf, inf)
    found = []
    for layer, (_, module, given) in zip(profile(model, x, unlimited, recipe), chain(model, x)):
        once, both = measure(comm, [partial(module, given), partial(both_passes, module, given)], repeat)
        found.append(layer._replace(forward=once.median, backward=max(both.median - once.median, 0.0)))
    return found


def chain(model: nn.Module, x: Tensor) -> Iterator[tuple[str, nn.Module, Tensor]]:
    """Name, layer, and what it is given, cut off from the layer before so that a backward pass ends there."""
    links = layers(model)
    for place, (link, layer) in enumerate(zip(links, cut(deepcopy(model), range(1, len(links) + 1)))):
        yield link.name, layer, x.detach().requires_grad_(place > 0)
        with torch.no_grad():
            x = layer(x)


def backward_pass(layer: nn.Module, given: Tensor, y: Tensor) -> None:
    """The gradients for y's input and the layer's parameters, as far as they are needed; they are not kept."""
    wanted = [t for t in (given, *layer.parameters()) if t.requires_grad]
    if wanted:
        torch.autograd.grad(y, wanted, y.detach())


def both_passes(layer: nn.Module, given: Tensor) -> None:
    """Forward, and backward."""
    backward_pass(layer, given, layer(given))


def held(layer: nn.Module, recipe: Recipe) -> int:
    """Bytes of its parameters, with all that training keeps for them. A tied parameter is there on every stage."""
    return replica(sum(weight.numel() for weight in layer.parameters()), recipe).total


def transformer(
    h: int,
    keys: Sequence[float],
    V: int,
    tokens: float,
    rate: float,
    recipe: Recipe = ADAM_MIXED,
    itemsize: int = 2,
) -> list[Layer]:
    """Embedding, one block for each of `keys`, and head of a decoder of width h and vocabulary V, by formula.

    keys      for each block, to how many tokens a token attends on average: s / 2 if causal, the window if there is one
    tokens    b s of a micro-batch; rate: FLOPs per second that the device really does

    A block has 12 h^2 + 13 h parameters and 24 h^2 + 4 h keys FLOPs a token, and keeps 34 h bytes of it (Korthikanti et
    al. 2022, without scores); the head has V h parameters and 2 V h FLOPs, and keeps its logits in 4 bytes each.
    """
    sent = itemsize * h * tokens

    def layer(name: str, parameters: int, flops: float, kept: float) -> Layer:
        seconds = tokens * flops / rate
        return Layer(seconds, 2 * seconds, replica(parameters, recipe).total, kept * tokens, sent, name)

    blocks = [layer(f"block {i}", 12 * h * h + 13 * h, 24 * h * h + 4 * h * k, 34 * h) for i, k in enumerate(keys)]
    head = layer("head", V * h, 2 * V * h, itemsize * h + 4 * V)
    return [layer("embedding", V * h, 0, itemsize * h), *blocks, head]
