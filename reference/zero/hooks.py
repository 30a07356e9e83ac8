"""Hooks: they tell when the forward and the backward pass come to a unit of the model, and when they leave it.

Idea      A module's own hooks are called before and after its forward pass. The backward pass comes to a unit when the
          gradient of one of its outputs is there: a hook on the output. It has left when the gradients of the inputs
          are there. A hook on an input would wait for the gradients of its other uses, too (a residual connection);
          so the unit gets what an operation passes on that does nothing but call back in its backward pass.
          A checkpoint around several units runs them without a record first. Such a unit is met again in the backward
          pass: it is marked then, when the record is made, so that it is left as soon as its own part of it has ended.
Source    torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py in PyTorch 2.13 (RegisterPostBackwardFunction).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from .units import Unit


class Events(Protocol):
    """What is called."""

    def before_forward(self, unit: Unit) -> None: ...
    def after_forward(self, unit: Unit) -> None: ...
    def before_backward(self, unit: Unit) -> None: ...
    def after_backward(self, unit: Unit) -> None: ...
    def before_recomputation(self, unit: Unit) -> None: ...


class Call:
    """One forward pass through a unit; lives as long as its graph."""

    def __init__(self, ended: Callable[[Call], None]):
        self.ended = ended


class Mark(torch.autograd.Function):
    """Passes tensors on; in the backward pass, tells the call that it has ended."""

    @staticmethod
    def forward(ctx, call: Call, *tensors: Tensor):
        """The tensors as they are."""
        ctx.call = call
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx, *gradients: Tensor | None):
        """Their gradients as they are."""
        ctx.call.ended(ctx.call)
        return (None, *gradients)


def watch(events: Events, unit: Unit) -> list[Any]:
    """Have its methods called; what takes the hooks off again, by `remove`."""

    def ended(call: Call) -> None:
        unit.calls.discard(call)
        events.after_backward(unit)

    def enter(_: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        again = in_backward()
        if again:
            events.before_recomputation(unit)
        else:
            events.before_forward(unit)
        marked = again and unit.calls  # in the forward pass: its checkpoint keeps autograd's graph
        if marked or not torch.is_grad_enabled():
            return args, kwargs
        return _mark_inputs(unit, Call(ended), args, kwargs)

    def leave(_: nn.Module, args: tuple, output: Any) -> None:
        if in_backward():
            return
        events.after_forward(unit)
        for y in _needing_gradient(output):
            y.register_hook(lambda _: events.before_backward(unit))

    return [
        unit.module.register_forward_pre_hook(enter, with_kwargs=True),
        unit.module.register_forward_hook(leave),
    ]


def in_backward() -> bool:
    """Whether this thread is inside a backward pass: then a forward pass is a checkpoint's recomputation."""
    return torch._C._current_graph_task_id() != -1


def _needing_gradient(values: Any) -> list[Tensor]:
    """The tensors in nested tuples, lists and dicts that need a gradient."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor) and x.requires_grad]


def _mark_inputs(unit: Unit, call: Call, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments, with a mark: when the backward pass has come through it, the call has ended."""
    inputs = _needing_gradient((args, kwargs))
    if not inputs:
        unit.unmarked = True
        return args, kwargs
    unit.calls.add(call)
    passed = dict(zip(map(id, inputs), Mark.apply(call, *inputs)))
    return tree_map(lambda x: passed.get(id(x), x), (args, kwargs))
