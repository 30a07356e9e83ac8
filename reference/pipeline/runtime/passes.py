"""The passes of a rank's stages through torch's autograd, with what is kept between forward and backward.

              F   y = stage(x)              keep x and the graph; on the last stage y is the loss, a sum
              B   dx and dW from dy         free both
              I   dx from dy                free the graph, keep what W needs (split_backward.py)
              W   dW                        free that

Price     A stage in `recompute` keeps x only, and repeats the forward pass when its backward pass begins: Chen, Xu,
          Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016).
Exact     Dropout draws from a generator of (seed, step, stage, micro-batch): the masks do not depend on the schedule,
          and a forward pass that is repeated draws the same ones again.
Left out  Buffers that change in the forward pass, as batch normalisation's do: a recomputed stage changes them twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from ...models import drawn_from
from .split_backward import Queue, backward_for_weights, deferred

Loss = Callable[[Tensor, Tensor], Tensor]
Stages = Mapping[int, nn.Module]


class Latest:
    """The weights of a rank's stages as they are: one version, as "flush" schedules want it. Others: weights.py.

    stages        stage -> module
    optimizers    stage -> optimizer; none for a stage that is not updated

    updates       stage -> how many updates it has had in this step
    seen          (stage, micro-batch) -> how many of them the weights of its passes had seen
    """

    def __init__(self, stages: Stages, optimizers: Mapping[int, torch.optim.Optimizer]):
        self.stages, self.optimizers = stages, optimizers
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self.updates = dict.fromkeys(self.stages, 0)
        self.seen: dict[tuple[int, int], int] = {}

    def forward(self, s: int, i: int, x: Tensor) -> Tensor:
        """Stage s of x, with the weights that micro-batch i is to use; in a repeated pass the same ones."""
        self.seen[s, i] = self.updates[s]
        return self.stages[s](x)

    def finished(self, s: int, i: int) -> None:
        """Micro-batch i needs the weights of stage s no longer; its gradient has been added to theirs."""

    def update(self, s: int) -> None:
        """S: the optimizer's step of stage s."""
        self.updates[s] += 1
        if s in self.optimizers:
            self.optimizers[s].step()


class Kept(NamedTuple):
    """What a forward pass leaves for the backward pass: its input, the end of its graph (None: there is no graph, or it
    is computed again), and the queue for W if the backward pass is in two parts."""

    x: Tensor
    end: GradientEdge | None
    queue: Queue | None


class Passes:
    """Forward and backward passes of a rank's stages.

    weights    of the rank's stages
    last       the last stage of the pipeline, and the loss behind it: (output, targets) -> their sum
    splits     the (stage, micro-batch) whose backward pass is in two parts
    recompute  the stages that keep their input only
    """

    def __init__(self, weights: Latest, last: int, loss: Loss, splits: Collection, recompute: Collection, seed: int):
        self.weights, self.last, self.loss, self.seed = weights, last, loss, seed
        self.splits, self.recompute, self.peak = splits, recompute, 0

    def begin(self, step: int, y: Sequence[Tensor]) -> None:
        """Get ready for a step: its number, and the targets of each micro-batch."""
        self.step, self.y, self.peak = step, y, 0
        self.kept: dict[tuple[int, int], Kept] = {}
        self.weights.begin()

    def forward(self, s: int, i: int, x: Tensor) -> Tensor:
        """F: the stage's output, or the loss; without its graph, which is kept."""
        queue = deque() if (s, i) in self.splits else None
        with torch.set_grad_enabled(s not in self.recompute):
            y = self._run(s, i, x, queue)
        self.kept[s, i] = Kept(x, _end(y), queue)
        self.peak = max(self.peak, len(self.kept))
        return y.detach()

    def backward(self, s: int, i: int, dy: Tensor | None) -> Tensor | None:
        """B, or I of a pass that is split: dx, or None if x needs none. dy is None if the output needs none."""
        x, end, queue = self.kept[s, i]
        if s in self.recompute and dy is not None:
            end = _end(self._run(s, i, x, queue))
        if end is not None:
            torch.autograd.backward(end, dy)
        dx, x.grad = x.grad, None
        if queue is None:
            self._finish(s, i)
        else:
            self.kept[s, i] = Kept(None, None, queue)
        return torch.zeros_like(x) if dx is None and x.requires_grad else dx

    def backward_for_weights(self, s: int, i: int) -> None:
        """W."""
        backward_for_weights(self.kept[s, i].queue)
        self._finish(s, i)

    def _finish(self, s: int, i: int) -> None:
        del self.kept[s, i]
        self.weights.finished(s, i)

    def _run(self, s: int, i: int, x: Tensor, queue: Queue | None) -> Tensor:
        """The stage's forward pass, and the loss if it is the last; the same numbers every time."""
        split = nullcontext() if queue is None else deferred(self.weights.stages[s], queue)
        with drawn_from(self.seed, self.step, s, i), split:
            y = self.weights.forward(s, i, x)
            return self.loss(y, self.y[i]) if s == self.last else y


def _end(y: Tensor) -> GradientEdge | None:
    """Where the graph ends. Unlike y itself it does not keep y's numbers, which nobody may need."""
    return get_gradient_edge(y) if y.requires_grad else None
