"""The backward pass in two parts: the gradient for the input at once, those for the weights whenever there is time.

Paper     Qi, Wan, Huang and Lin, "Zero Bubble Pipeline Parallelism" (2023).
Idea      y = x W^T has two products in its backward pass: dx = dy W, which the stage before waits for, and
          dW = dy^T x, which nobody waits for but the optimizer. Autograd does both at once. So each layer that has
          parameters runs inside an autograd.Function: its backward pass computes dx alone and puts the rest of the work
          into a queue, which W empties.
Before    B    dx and dW of every layer, from the last to the first          all that was kept is freed
After     I    dx of every layer; all is freed but what dW needs: x and dy of the layers that have parameters
          W    dW of every layer
Sends     what B does
Price     x and dy are kept until W. Of a GPT's block these are 9 + 11 b s h numbers, where the graph up to then was 16,
          or 30 if dropout's masks and attention's scores are in it: I frees little, and sometimes nothing.
Left out  Parameters that a module with children uses itself, such as a position table that is added: their gradients
          are added up in I, which is right, but not deferred.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

Queue = deque[tuple[GradientEdge, Tensor, list[Tensor]]]
"""Work that is left for W: where a layer's own graph ends, the gradient there, and the parameters it is for."""


@contextmanager
def deferred(module: nn.Module, queue: Queue) -> Iterator[None]:
    """A backward pass of what is computed inside puts the gradients for the weights into the queue."""
    leaves = [
        leaf for leaf in module.modules() if not leaf._modules and any(p.requires_grad for p in leaf.parameters())
    ]
    forwards = [leaf.forward for leaf in leaves]
    for leaf, forward in zip(leaves, forwards):
        leaf.forward = partial(_run, leaf, forward, queue)
    try:
        yield
    finally:
        for leaf in leaves:
            del leaf.forward  # the one of its class shows again


def backward_for_weights(queue: Queue) -> None:
    """W: add what the queue holds to the parameters' .grad, and free what was kept for it."""
    while queue:
        end, dy, parameters = queue.popleft()
        torch.autograd.backward(end, dy, inputs=parameters)


def _run(leaf: nn.Module, forward, queue: Queue, x: Tensor) -> Tensor:
    return _Split.apply(forward, queue, x, *_trained(leaf))


def _trained(leaf: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in leaf.parameters() if parameter.requires_grad]


class _Split(torch.autograd.Function):
    """A layer with a small graph of its own. The parameters are arguments so that autograd asks for a backward pass
    even if x, which may be tokens, needs none."""

    @staticmethod
    def forward(ctx, forward, queue: Queue, x: Tensor, *parameters: Tensor) -> Tensor:
        with torch.enable_grad():
            inner = x.detach().requires_grad_(x.requires_grad)
            y = forward(inner)
        ctx.layer = inner if x.requires_grad else None, get_gradient_edge(y), queue, list(parameters)
        return y.detach()

    @staticmethod
    def backward(ctx, dy: Tensor):
        x, end, queue, parameters = ctx.layer
        dx = None if x is None else torch.autograd.grad(end, x, dy, retain_graph=True)[0]
        queue.append((end, dy, parameters))
        return None, None, dx, *[None] * len(parameters)
