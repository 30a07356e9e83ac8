"""The backward pass in two parts: the gradient for the input at once, those for the weights whenever there is time.

Idea      y = x W^T has two products in its backward pass: dx = dy W, which the stage before waits for, and
          dW = dy^T x, which nobody waits for but the optimizer. Autograd does both at once. So while a stage runs
          inside `deferred`, its layers are autograd.Functions whose backward pass computes dx alone, and puts what W
          has to do into a queue.
          nn.Linear is written out. Another layer with a matrix (an embedding, a convolution) gets a small graph of its
          own, through which autograd goes twice: for dx, then for dW. It must take one tensor and give one.
Before    B    dx and dW of every layer, from the last to the first          all that was kept is freed
After     I    dx of every layer           all is freed but x and dy of the layers that are split
          W    dW of every layer           the rest
Sends     What B does.
Price     x and dy are kept until W. Of a GPT's block these are 7 + 9 b s h numbers, where the graph up to then was 16,
          or 30 if dropout's masks and attention's scores are in it: I frees little, and sometimes nothing.
Left out  Layers whose parameters are vectors (norms), and parameters that a module with children uses itself (a table
          of positions): their gradients are cheap, and added up in I.
Source    Qi, Wan, Huang and Lin, "Zero Bubble (Almost) Pipeline Parallelism" (2023).
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
    """A backward pass of what is computed inside puts the gradients for the weights into the queue.

    Each layer that is split must take one tensor, alone or as `input`, and give one. Raises TypeError where one does
    not (recurrent layers, Bilinear).
    """
    leaves = [leaf for leaf in module.modules() if not leaf._modules and any(w.dim() > 1 for w in _trained(leaf))]
    wanted = torch.empty(0, requires_grad=True)  # an input that makes autograd ask for a backward pass, even of tokens
    for leaf in leaves:
        run = partial(_Linear.apply, leaf) if type(leaf) is nn.Linear else partial(_Layer.apply, leaf, leaf.forward)
        leaf.forward = partial(_call, leaf, partial(run, queue, wanted))
    try:
        yield
    finally:
        for leaf in leaves:
            del leaf.forward  # the one of its class shows again


def _call(leaf: nn.Module, run: Callable[[Tensor], Tensor], *given, **named) -> Tensor:
    """What the layer makes of the one tensor that it is given."""
    tensors = (*given, *named.values())
    if len(tensors) != 1 or not isinstance(tensors[0], Tensor) or named.keys() - {"input"}:
        raise TypeError(_whole(leaf, "is given something else than one tensor"))
    return run(*tensors)


def _whole(leaf: nn.Module, why: str) -> str:
    return (
        f"the backward pass of {type(leaf).__name__} cannot be in two parts, for it {why}: take a schedule with B "
        f"instead of I and W"
    )


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
        ctx.save_for_backward(x, leaf.weight)  # autograd sees to it that both are still the same when it comes back
        ctx.rest = leaf.bias, queue
        return F.linear(x, leaf.weight, leaf.bias)

    @staticmethod
    def backward(ctx, dy: Tensor):
        (x, W), (b, queue) = ctx.saved_tensors, ctx.rest
        queue.append(partial(_weights_of_linear, x.detach(), dy, W, b))
        return None, None, None, dy @ W.to(dy.dtype) if ctx.needs_input_grad[3] else None


def _weights_of_linear(x: Tensor, dy: Tensor, W: Tensor, b: Tensor | None) -> None:
    """dW = dy^T x, summed over all that is not a feature, and db = the sum of dy; added to .grad."""
    x, dy = x.reshape(-1, x.shape[-1]).to(dy.dtype), dy.reshape(-1, dy.shape[-1])
    if W.requires_grad and _plain(W, dy.dtype):
        torch.addmm(W.grad, dy.T, x, out=W.grad)  # product and sum in one
    elif W.requires_grad:
        torch.autograd.backward(W, dy.T @ x)
    if b is not None and b.requires_grad:
        torch.autograd.backward(b, dy.sum(0))


def _plain(W: Tensor, dtype: torch.dtype) -> bool:
    """Whether W has a .grad of that type already, and no hook is to see what is added to it."""
    hooks = W._backward_hooks or W._post_accumulate_grad_hooks
    return W.is_leaf and W.grad is not None and W.grad.dtype == dtype and not hooks


# Any other layer ----------------------------------------------------------------------------------------------------


class _Layer(torch.autograd.Function):
    """A layer with a small graph of its own, which begins at its input and its parameters."""

    @staticmethod
    def forward(ctx, leaf: nn.Module, forward: Callable, queue: Queue, wanted: Tensor, x: Tensor) -> Tensor:
        with torch.enable_grad():
            inner = x.detach().requires_grad_(x.requires_grad)
            y = forward(inner)
        if not isinstance(y, Tensor):
            raise TypeError(_whole(leaf, f"gives a {type(y).__name__} and not one tensor"))
        ctx.layer = inner if x.requires_grad else None, get_gradient_edge(y), queue, _trained(leaf)
        return y.detach()

    @staticmethod
    def backward(ctx, dy: Tensor):
        x, end, queue, parameters = ctx.layer
        dx = None if x is None else torch.autograd.grad(end, x, dy, retain_graph=True)[0]
        queue.append(partial(torch.autograd.backward, end, dy, inputs=parameters))
        return None, None, None, None, dx
