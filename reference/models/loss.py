"""The loss as a sum and a count, because sums can be added and means cannot.

Idea      The mean over a batch of 5 targets and that over a batch of 3 do not say what the mean over all 8 is, unless
          one also knows the 5 and the 3. Sums do. So micro-batches, ranks and steps hand on (sum, count), and whoever
          has all of them divides, once.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .data import IGNORED, Data


def loss_sum(model: nn.Module, data: Data) -> tuple[Tensor, int]:
    """The SUM of the cross entropy (nats) over the targets that are not IGNORED, and their number.

    Of an empty batch 0 and 0; its backward pass gives zeros, so that a rank without data can take part.
    """
    return cross_entropy_sum(model(data.x), data.y), targets(data)


def cross_entropy_sum(logits: Tensor, y: Tensor) -> Tensor:
    """The SUM of the cross entropy of logits [..., V] (nats) over the targets y [...] that are not IGNORED."""
    return F.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="sum", ignore_index=IGNORED)


def targets(data: Data) -> int:
    """How many targets are not IGNORED."""
    return int((data.y != IGNORED).sum())


@torch.no_grad()
def mean_loss(model: nn.Module, data: Data) -> float:
    """The mean cross entropy (nats) over the targets that count, in evaluation mode. Raises ValueError if none does."""
    total = sum(loss_sum(model, piece)[0].double() for piece in _pieces(model, data))
    return _mean(float(total), targets(data))


@torch.no_grad()
def accuracy(model: nn.Module, data: Data) -> float:
    """The share of the targets that count which the model gets right; else as mean_loss."""
    right = sum(int((model(piece.x).argmax(-1) == piece.y).sum()) for piece in _pieces(model, data))
    return _mean(right, targets(data))


def _mean(total: float, count: int) -> float:
    if not count:
        raise ValueError("a mean over no targets: there is no sample, or every target is IGNORED")
    return total / count


def _pieces(model: nn.Module, data: Data, size: int = 512) -> Iterator[Data]:
    """Pieces whose logits fit into memory; while they are used, the model is in evaluation mode."""
    training = model.training
    model.eval()
    try:
        yield from map(Data, data.x.split(size), data.y.split(size))
    finally:
        model.train(training)
