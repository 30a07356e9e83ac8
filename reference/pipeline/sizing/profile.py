"""A profile of a model's layers: seconds, bytes kept, bytes sent. What partition.py cuts by.

Idea      Each layer by itself, on what the layer before gives: its forward pass, then its backward pass. Three ways:

          profile       a Meter counts FLOPs and bytes and reckons seconds for any device. The same on every machine
          stopwatch     the seconds of this machine, medians of several runs
          transformer   by formula, for models that no laptop holds

Exact     Kept is what is alive after the forward pass that was not before: what autograd saved, and the output, which
          the next layer saves as a rule, or the executor keeps. Then the layers' bytes add up to those of the model. (A
          ReLU saves its own output and not its input: behind a linear layer by itself, bytes are counted too many.)
          It adds gradients to those of the micro-batches before, as a pipeline does; to the last layer the loss, if
          given.
Left out  What a kernel needs while it runs.
Source    Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019), profile first, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from math import inf

import torch
from torch import Tensor, nn

from ...data_parallel.memory import replica
from ...perf.measure import measure
from ...perf.meter import Meter
from ...perf.recipes import ADAM, ADAM_MIXED, Recipe
from ...perf.roofline import Device
from ...perf.transformer import flops_a_token, layer_bytes, layer_parameters
from ..stages import cut, layers
from .cuts import LayerProfile

OutputLoss = Callable[[Tensor], Tensor]


def profile(
    model: nn.Module, x: Tensor, device: Device, recipe: Recipe = ADAM, loss: OutputLoss | None = None
) -> list[LayerProfile]:
    """The layers of `model` for a micro-batch x [b, ...], as they would be on `device`.

    recipe    bytes a parameter of weights, gradients and optimizer's state
    loss      output of the last layer -> a number; as costly as it is with a large vocabulary

    The model is copied and stays as it is.
    """
    found = []
    for name, layer, run, given in chain(model, x, loss):
        with Meter(None, device, layer) as meter:
            y = run(given)
            forward, kept = meter.total.seconds, meter.live["activations"]
            backward_pass(given, y)
        backward = meter.total.seconds - forward
        found.append(LayerProfile(forward, backward, held(layer, recipe), kept, y.nbytes, name))
    return found


def stopwatch(
    comm, model: nn.Module, x: Tensor, repeat: int = 5, recipe: Recipe = ADAM, loss: OutputLoss | None = None
) -> list[LayerProfile]:
    """The same with this machine's seconds, those of the slowest rank of `comm`; bytes as in profile."""
    unlimited = Device(inf, inf)
    found = []
    for layer, (_, _, run, given) in zip(profile(model, x, unlimited, recipe, loss), chain(model, x, loss)):
        once, both = measure(comm, [partial(run, given), partial(both_passes, run, given)], repeat)
        found.append(layer._replace(forward=once.median, backward=max(both.median - once.median, 0.0)))
    return found


def _judged(layer: nn.Module, loss: OutputLoss, x: Tensor) -> Tensor:
    return loss(layer(x))


def chain(model: nn.Module, x: Tensor, loss: OutputLoss | None) -> Iterator[tuple[str, nn.Module, OutputLoss, Tensor]]:
    """Name, layer, its forward pass, and what it is given: cut off, so that a backward pass ends there."""
    links = layers(model)
    for link, layer in zip(links, cut(deepcopy(model), range(1, len(links) + 1))):
        for weight in layer.parameters():
            weight.grad = torch.zeros_like(weight) if weight.requires_grad else None
        yield link.name, layer, partial(_judged, layer, loss) if loss and link is links[-1] else layer, x
        with torch.no_grad():
            x = layer(x)
        x = x.requires_grad_()


def backward_pass(given: Tensor, y: Tensor) -> None:
    """From y to its input and the layer's weights, as far as they are trained."""
    given.grad = None
    if y.requires_grad:
        y.backward(y.detach())


def both_passes(run: OutputLoss, given: Tensor) -> None:
    """Forward, and backward."""
    backward_pass(given, run(given))


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
) -> list[LayerProfile]:
    """Embedding, one block for each of `keys`, and head of a decoder of width h and vocabulary V, by formula.

    keys      for each block, to how many tokens a token attends on average: s / 2 if causal, the window if there is one
    tokens    b s of a micro-batch; rate: FLOPs per second that the device really does

    A block has 12 h^2 + 13 h parameters, and keeps 34 h bytes of a token (Korthikanti et al. 2022, without scores); the
    head has V h parameters and 2 V h FLOPs, and keeps its logits in 4 bytes each.
    """
    sent = itemsize * h * tokens

    def layer(name: str, parameters: int, flops: float, kept: float) -> LayerProfile:
        seconds = tokens * flops / rate
        return LayerProfile(seconds, 2 * seconds, replica(parameters, recipe).total, kept * tokens, sent, name)

    kept = layer_bytes(1, 1, h, 1, scores=False)
    blocks = [layer(f"block {i}", layer_parameters(h), flops_a_token(h, k), kept) for i, k in enumerate(keys)]
    head = layer("head", V * h, 2 * V * h, itemsize * h + 4 * V)
    return [layer("embedding", V * h, 0, itemsize * h), *blocks, head]
