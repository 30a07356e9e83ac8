"""One interpreter that carries out any schedule of recomputation on a list of modules.

Idea      Each operation of a schedule (chain.py) is a few lines of torch: a forward pass without autograd's record, one
          with it, a backward pass through one link's record. The values between the links are tensors of their own,
          so the record of a link ends where the link ends, and autograd never decides what is kept.
Exact     Gradients have the bits of link(...(link(x))).backward(), for each link computes the same again: its random
          numbers, too. A weight of two links gets both gradients in its `.grad`, as from autograd; of three or more the
          order of the additions may differ.
Left out  Links whose output is a view of their input: both are one memory, which the predicted bytes count twice.
Try       carry_out(gpt_links(model, data.y), data.x, keep_all(model.config.layers + 2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import get_gradient_edge

from ..models import GPT
from .chain import ChainOperation, Operations, check
from .checkpoint import GLOBAL, Random, replayed

ChainLinks = Sequence[Callable[[Tensor], Tensor]]
Around = Callable[[ChainOperation], AbstractContextManager]


class CarriedOut(NamedTuple):
    """What the chain put out, detached, and the gradient of what entered, None if it needs none."""

    output: Tensor
    gradient: Tensor | None


def carry_out(
    links: ChainLinks,
    x: Tensor,
    operations: Operations,
    dy: Tensor | None = None,
    random: Sequence[Random] = GLOBAL,
    around: Around = nullcontext,
) -> CarriedOut:
    """A forward and a backward pass of the chain by this schedule; gradients of weights are added to their `.grad`.

    links: modules, or functions of a tensor. dy: the gradient of what the chain puts out; None if that is one number.
    random: where links draw from. around(operation): a context in which the operation takes place.
    Raises ValueError as `chain.check` does, before anything is computed.
    """
    check(len(links), operations)
    machine = ChainMachine(links, x, dy, random)
    for operation in operations:
        with around(operation):
            machine.take(operation)
    return CarriedOut(machine.values[len(links)], machine.gradient if x.requires_grad else None)


class ChainMachine:
    """What is live: values {i: a[i]}, records {i: (its input, where its record ends)}, the gradient d[i]."""

    def __init__(self, links: ChainLinks, x: Tensor, dy: Tensor | None, random: Sequence[Random]):
        self.links, self.random, self.needs_gradient = links, random, x.requires_grad
        self.values: dict[int, Tensor] = {0: x.detach()}
        self.records: dict[int, tuple[Tensor, Any]] = {}
        self.gradient, self.next = dy, len(links)  # the gradient is that of a[next]
        self.states: dict[int, list] = {}

    def take(self, operation: ChainOperation) -> None:
        """Carry one operation out."""
        kind, i, keep = operation
        if kind == "forward":
            y = self.record(i) if keep == "all" else self.forward(i)
            if i + 1 < self.next or i + 1 == len(self.links):
                self.values[i + 1] = y
        if kind == "backward":
            self.backward(i)
        if kind != "forward" or keep == "nothing":
            del self.values[i]

    def forward(self, i: int) -> Tensor:
        """a[i + 1], without a record."""
        with torch.no_grad():
            return self.run(i, self.values[i])

    def record(self, i: int) -> Tensor:
        """a[i + 1]; and the link's record is kept."""
        x = self.values[i].detach().requires_grad_(i > 0 or self.needs_gradient)
        with torch.enable_grad():
            y = self.run(i, x)
        self.records[i] = x, get_gradient_edge(y)
        return y.detach()

    def run(self, i: int, x: Tensor) -> Tensor:
        """The link, with the random numbers of its first forward pass."""
        if i not in self.states:
            self.states[i] = [source.state() for source in self.random]
            return self.links[i](x)
        with replayed(self.random, self.states[i]):
            return self.links[i](x)

    def backward(self, i: int) -> None:
        """d[i] from d[i + 1]."""
        x, end = self.records.pop(i)
        torch.autograd.backward(end, self.gradient)
        self.gradient, self.next = x.grad, i


# A model as a chain ---------------------------------------------------------------------------------------------------


def gpt_links(model: GPT, y: Tensor, halves: bool = False) -> list[Callable[[Tensor], Tensor]]:
    """The loss of a GPT as a chain: embedding, blocks, head with the SUM of the cross entropy over the targets y.

    halves: a block is two links, attention and feed-forward network, each with its norm.
    """

    def loss(x: Tensor) -> Tensor:
        return F.cross_entropy(model.tell(x).flatten(0, 1), y.flatten(), reduction="sum")

    blocks: Any = model.blocks
    inner = [half for block in blocks for half in (block.attend, block.think)] if halves else list(blocks)
    return [model.embed, *inner, loss]
