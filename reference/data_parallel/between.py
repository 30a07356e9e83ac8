"""Between the steps of a training: where somebody else may look at its state, and may change it.

Idea      A training loop asks for the number of the next step. Whoever gives the numbers, one after the other, is in
          control between the steps: it can put a saved state in before it gives the first one, and save after each.
          So each loop says once what it trains, and knows nothing of checkpoints.
Try       def print_losses(training, steps):
              for number in steps:
                  yield number  # here the step is taken
                  print(number, training.losses[-1])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from torch import nn
from torch.optim import Optimizer


class InTraining(NamedTuple):
    """What a loop trains on this rank.

    named       its parameters by their names in the serial model; where a rank has two copies, both
    optimizers  of these, or of their pieces
    losses      of the steps so far; a resumed training begins with those before
    stage       of ZeRO, whose pieces the optimizer has; or None
    replica     whose buckets gradients travel in; or None
    comms       communicators that sum gradients, by names that are alike on all ranks
    """

    named: Sequence[tuple[str, nn.Parameter]]
    optimizers: Sequence[Optimizer]
    losses: list[float]
    stage: Any = None
    replica: Any = None
    comms: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it


Between = Callable[[InTraining, Iterable[int]], Iterable[int]]


def straight_on(training: InTraining, steps: Iterable[int]) -> Iterable[int]:
    """Nothing between the steps."""
    return steps
