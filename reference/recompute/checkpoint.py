"""Activation checkpointing by hand: a function whose inside is computed again in the backward pass.

Idea      A part of a model keeps its inputs only. Its backward pass first computes the forward pass again, this time
          with autograd's record, and then goes backward through that record.

              forward    y = function(x), without a record; x is kept
              backward   x back; y = function(x) again, with the record; then the backward pass through it

Before    all that autograd keeps inside of the function, from its forward pass to its backward pass
After     its inputs, from its forward pass to its backward pass; the rest during its backward pass only
Price     One more forward pass of the function. If backward takes twice as long as forward, and everything is computed
          again, a step grows from 1 + 2 to 1 + 1 + 2: by a third.
Exact     The same operations on the same numbers in the same order: gradients have the same bits. That needs the same
          random numbers: `random` names the generators that the function draws from, whose states are kept, and put
          back for the second forward pass. Autocast is as it was in the first. Inputs that were changed in place in
          between are noticed (RuntimeError), as torch notices them.
Left out  Buffers that the function changes, as batch normalisation's do: it changes them twice. `torch.autograd.grad`:
          gradients of weights are added to their `.grad`, since the function holds them and autograd does not see them.
          Generators of devices that are neither a CPU nor CUDA's, unless `random` names them.
Source    Chen, Xu, Zhang & Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016). torch.utils.checkpoint
          does this with use_reentrant=True; with False it keeps autograd's graph, and computes again up to the last
          tensor that the graph needs, so not a product at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

Fetch = Callable[[], Tensor]
"""Brings back an input that was put away."""
Keep = Callable[[Tensor], Fetch]
"""Puts an input away."""


class Random(Protocol):
    """A source of random numbers that can go back to where it was, such as tensor_parallel.dropout.Masks."""

    def state(self) -> Any:
        """What `restore` needs."""

    def restore(self, state: Any) -> None:
        """Go back to a state."""


class GlobalRandom:
    """Torch's global generators, from which nn.Dropout draws: that of the CPU, and those of CUDA's devices."""

    def state(self) -> tuple[Tensor, list[Tensor]]:
        """The states, 5 kB of the host's memory and 16 bytes a device, which no meter counts."""
        with _disable_current_modes():
            return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def restore(self, state: tuple[Tensor, list[Tensor]]) -> None:
        """Go back to them."""
        torch.set_rng_state(state[0])
        if state[1]:
            torch.cuda.set_rng_state_all(state[1])


GLOBAL = (GlobalRandom(),)


def stay(x: Tensor) -> Fetch:
    """Leave x where it is. What this returns raises RuntimeError if x has been changed in place by then."""
    version = x._version

    def fetch() -> Tensor:
        if x._version != version:
            raise RuntimeError(
                "an input of a checkpointed function was changed in place after its forward pass, so it cannot be "
                "computed again: give the function a copy"
            )
        return x

    return fetch


def checkpoint(function: Callable[..., Any], *inputs: Any, random: Sequence[Random] = GLOBAL, keep: Keep = stay) -> Any:
    """function(*inputs), of which only the inputs are kept for the backward pass.

    function: returns a tensor, or a tuple of them. inputs: tensors, or whatever else it takes. random: where it draws
    from. keep: takes each tensor among the inputs, detached, and returns a function that brings it back, which is
    called once. Without grad mode this is function(*inputs).
    Raises RuntimeError when a backward pass goes through it a second time.
    """
    if not torch.is_grad_enabled():
        return function(*inputs)
    anchor = torch.empty(0, requires_grad=True)  # so that weights are trained below inputs that need no gradient
    return ComputedAgain.apply(function, random, keep, anchor, *inputs)


class ComputedAgain(torch.autograd.Function):
    """outputs = function(inputs) without a record; backward, the same with a record, and backward through that."""

    @staticmethod
    def forward(ctx, function, random, keep, anchor, *inputs: Any) -> Any:
        """What the function makes of the inputs; autograd records nothing in here."""
        ctx.set_materialize_grads(False)  # of outputs that nobody used
        ctx.function, ctx.random, ctx.states = function, random, [source.state() for source in random]
        ctx.autocast = autocast_now()
        ctx.kept = [(keep(x.detach()), x.requires_grad) if isinstance(x, Tensor) else x for x in inputs]
        return function(*(x.detach() if isinstance(x, Tensor) else x for x in inputs))

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> Any:
        """The gradients of the inputs; those of the function's weights are added to their `.grad`."""
        if ctx.kept is None:
            raise RuntimeError("the inputs of this checkpoint are gone: one backward pass for each forward pass")
        inputs = [came_back(one) for one in ctx.kept]
        ctx.kept = None
        with replayed(ctx.random, ctx.states), ctx.autocast(), torch.enable_grad():
            outputs = ctx.function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(y, dy) for y, dy in zip(outputs, gradients, strict=True) if dy is not None and y.requires_grad]
        if pairs:
            torch.autograd.backward([y for y, _ in pairs], [dy for _, dy in pairs])
        return None, None, None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs)


def came_back(kept: Any) -> Any:
    """An input as it was given, as a tensor of its own for autograd."""
    if not isinstance(kept, tuple) or not callable(kept[0]):
        return kept
    fetch, needs_gradient = kept
    return fetch().detach().requires_grad_(needs_gradient)


@contextmanager
def replayed(random: Sequence[Random], states: Sequence[Any]) -> Iterator[None]:
    """Take these sources back to these states, and afterwards to where they were."""
    now = [source.state() for source in random]
    for source, state in zip(random, states, strict=True):
        source.restore(state)
    try:
        yield
    finally:
        for source, state in zip(random, now, strict=True):
            source.restore(state)


def autocast_now() -> Callable[[], AbstractContextManager]:
    """A function that gives the autocast of this moment as a context, on each kind of device that there is."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    now = [(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)) for kind in devices]

    @contextmanager
    def again() -> Iterator[None]:
        with ExitStack() as stack:
            for kind, dtype, enabled in now:
                stack.enter_context(torch.autocast(kind, dtype, enabled=enabled))
            yield

    return again
