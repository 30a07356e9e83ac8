"""The serial trainer: what every parallel one must equal.

Idea      One device, one whole batch: the gradient of the mean loss, then a step of the optimizer. With micro-batches
          the sums over the parts are added up before the one division, so that it is the same mathematical step with
          the activations of one part at a time. (Unless the model looks at the batch as a whole: batch normalisation
          then sees a part.)
"""

from __future__ import annotations

from torch import nn
from torch.optim import Optimizer

from .batches import batch, share
from .data import Data
from .loss import loss_sum


def train(
    model: nn.Module,
    data: Data,
    optimizer: Optimizer,
    steps: int,
    size: int,
    seed: int = 0,
    first: int = 0,
    micro_batches: int = 1,
) -> list[float]:
    """Take the steps first, first + 1, ... on batches of `size` samples; the mean loss of each, before its update."""
    losses = []
    for step in range(first, first + steps):
        losses.append(gradients(model, batch(data, size, step, seed), micro_batches))
        optimizer.step()
    return losses


def gradients(model: nn.Module, data: Data, micro_batches: int = 1) -> float:
    """Set each parameter's .grad to the gradient of the mean loss over this batch; the mean loss.

    The mean is over the targets that count. If none does, loss and gradients are 0. Some parts are empty if there are
    more micro-batches than samples. Raises ValueError unless micro_batches >= 1.
    """
    if micro_batches < 1:
        raise ValueError(f"a batch is cut into at least 1 part, got {micro_batches=}")
    model.zero_grad()
    loss, count = 0.0, 0
    for k in range(micro_batches):
        total, targets = loss_sum(model, Data(*(share(tensor, k, micro_batches) for tensor in data)))
        total.backward()
        loss, count = loss + total.item(), count + targets
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= max(count, 1)
    return loss / max(count, 1)
