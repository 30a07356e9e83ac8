"""The backward pass in two parts: the gradient for the input at once, those for the weights whenever there is time.

Paper     Qi, Wan, Huang and Lin, "Zero Bubble Pipeline Parallelism" (2023).
Idea      y = x W^T has two products in its backward pass: dx = dy W, which the stage before waits for, and
          dW = dy^T x, which nobody waits for but the optimizer. Autograd does both at once. So while a stage runs
          inside `deferred`, its layers are autograd.Functions whose backward pass computes dx alone, and puts what W
          has to do into a queue.
Before    B    dx and dW of every layer, from the last to the first          all that was kept is freed
After     I    dx of every layer           all is freed but x and dy of the layers that are split
          W    dW of every layer           the rest
Layers    nn.Linear is written out. Another layer with a matrix (an embedding, a convolution) gets a small graph of its
          own, through which autograd goes twice: for dx, then for dW.
Sends     what B does
Price     x and dy are kept until W. Of a GPT's block these are 7 + 9 b s h numbers, where the graph up to then was 16,
          or 30 if dropout's masks and attention's scores are in it: I frees little, and sometimes nothing.
Not split Layers whose parameters are vectors (norms), and parameters that a module with children uses itself (a table
          of positions): their gradients are cheap, and added up in I.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge

Queue = deque[Callable[[], None]]
"""What is left for W: each call adds a layer's gradients to its parameters' .grad."""


@contextmanager
def deferred(module: nn.Module, queue: Queue) -> Iterator[None]:
    """A backward pass of what is computed inside puts the gradients for the weights into the queue."""
    leaves = [leaf for leaf in module.modules() if not leaf._modules and any(w.dim() > 1 for w in _trained(leaf))]
    wanted = torch.empty(0, requires_grad=True)  # an input that makes autograd ask for a backward pass, even of tokens
    for leaf in leaves:
        run = partial(_Linear.apply, leaf) if type(leaf) is nn.Linear else partial(_Layer.apply, leaf, leaf.forward)
        leaf.forward = partial(run, queue, wanted)
    try:
        yield
    finally:
        for leaf in leaves:
            del leaf.forward  # the one of its class shows again


def backward_for_weights(queue: Queue) -> None:
    """W: do what is in the queue, and free what was kept for it."""
    while queue:
        queue.popleft()()


def _trained(leaf: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in leaf._parameters.values() if parameter is not None and parameter.requires_grad]


# A linear layer -----------------------------------------------------------------------------------------------------


class _Linear(torch.autograd.Function):
    """y = x W^T + b. x [..., in], W [out, in], b [out] -> y [..., out]."""

    @staticmethod
    def forward(ctx, leaf: nn.Linear, queue: Queue, wanted: Tensor, x: Tensor) -> Tensor:
        W, b = leaf.weight, leaf.bias
        ctx.layer = queue, x.detach(), W, b
        return F.linear(x, W, b)

    @staticmethod
    def backward(ctx, dy: Tensor):
        queue, x, W, b = ctx.layer
        queue.append(partial(_weights_of_linear, x, dy, W, b))
        return None, None, None, dy @ W if ctx.needs_input_grad[3] else None


def _weights_of_linear(x: Tensor, dy: Tensor, W: Tensor, b: Tensor | None) -> None:
    """dW = dy^T x, summed over all that is not a feature, and db = the sum of dy; added to .grad."""
    x, dy = x.flatten(0, -2), dy.flatten(0, -2)
    if W.requires_grad and W.grad is not None and not W._post_accumulate_grad_hooks:  # product and sum in one
        torch.addmm(W.grad, dy.T, x, out=W.grad)
    elif W.requires_grad:
        torch.autograd.backward(W, dy.T @ x)
    if b is not None and b.requires_grad:
        torch.autograd.backward(b, dy.sum(0))


# Any other layer ----------------------------------------------------------------------------------------------------


class _Layer(torch.autograd.Function):
    """A layer with a small graph of its own, which begins at its input and its parameters."""

    @staticmethod
    def forward(ctx, leaf: nn.Module, forward: Callable, queue: Queue, wanted: Tensor, x: Tensor) -> Tensor:
        with torch.enable_grad():
            inner = x.detach().requires_grad_(x.requires_grad)
            y = forward(inner)
        ctx.layer = inner if x.requires_grad else None, get_gradient_edge(y), queue, _trained(leaf)
        return y.detach()

    @staticmethod
    def backward(ctx, dy: Tensor):
        x, end, queue, parameters = ctx.layer
        dx = None if x is None else torch.autograd.grad(end, x, dy, retain_graph=True)[0]
        queue.append(partial(torch.autograd.backward, end, dy, inputs=parameters))
        return None, None, None, None, dx
