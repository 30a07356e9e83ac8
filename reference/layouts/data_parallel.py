"""Data parallelism: each rank has the whole model; and the loop in which other layouts are data-parallel, too.

Idea      A rank, or a group of ranks, takes its share of every batch; the gradients of the ranks that have the same
          part of the model are summed in buckets while the backward pass goes on (`data_parallel/replica.py`).
          What differs from layout to layout is a `Part`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .. import cli, mpi
from ..compression import hooks
from ..compression.reduce import CannotEncode
from ..data_parallel import replicate
from ..data_parallel.accumulation import accumulate
from ..data_parallel.between import InTraining
from ..data_parallel.replica import Replica, start_allreduce
from ..models import Data, batch, loss_sum
from ..recompute.policies import WORDS, policy, recompute
from .layout import Layout, Option, Trained, make_optimizer, progress

LossSum = Callable[[nn.Module, Data], tuple[Tensor, float]]


def norm(text: str) -> float:
    """The largest norm of a gradient, as it is typed. Raises ArgumentTypeError unless it is above 0 and finite."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a gradient is clipped to a norm above 0, got {text}")
    return value


def words_of_policy(text: str) -> str:
    """A policy of recomputation, as it is typed. Raises ArgumentTypeError for others."""
    try:
        policy(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def nothing() -> None:
    """Do nothing."""


def without_empty(loss_sum: LossSum) -> LossSum:
    """The same loss; of no samples it is 0 at once. All ranks of a group have the same samples, so none waits."""
    return lambda module, data: loss_sum(module, data) if len(data.y) else (torch.zeros(()), 0)


class Part(NamedTuple):
    """What a rank trains, and with whom.

    copies      the ranks that average gradients with this one
    module      this rank's part of the model
    share       which share of a batch this rank takes, of how many
    loss_sum    (module, data) -> the SUM of the loss over the data, and its count
    own         what of its share this rank takes: Data -> Data
    collect     puts the trained parts together again, into the whole model on every rank
    communicate how a bucket is summed (Replica)
    prefix      of the module's names, before those of the serial model
    """

    copies: Any
    module: nn.Module
    share: tuple[int, int]
    loss_sum: LossSum = loss_sum
    own: Callable[[Data], Data] = lambda data: data
    collect: Callable[[], None] = nothing
    communicate: Callable[[Any, int, Tensor], Any] = start_allreduce
    prefix: str = ""


class DataParallel(Layout):
    """Every rank has the whole model and a share of the batch."""

    name = "data parallelism"
    group = "rank"
    options: ClassVar = {
        "bucket": Option(25 * 2**20, {"type": cli.nbytes, "help": "4KiB, 1MiB, ... (default: 25MiB)"}),
        "order": Option(
            "reverse",
            {"choices": ("reverse", "ready"), "help": "of the gradients in the buckets (default: reverse)"},
        ),
        "compress": Option(
            "none",
            {
                "type": cli.OneOf("codec", hooks.CHOICES),
                "metavar": "HOW",
                "help": f"{', '.join(hooks.CHOICES)} (default: none)",
            },
        ),
        "clip": Option(None, {"type": norm, "metavar": "NORM", "help": "of the gradient, which is scaled down to it"}),
        "recompute": Option(
            "none",
            {
                "nargs": "?",
                "const": "full",
                "type": words_of_policy,
                "metavar": "HOW",
                "help": f"what of the gpt's blocks: {', '.join(WORDS)} (default: none; without HOW: full)",
            },
        ),
    }

    @property
    def inexact(self) -> str:
        """Compressed gradients are not those of the serial program."""
        return f"gradients are compressed by {self.chosen.compress}" if self.chosen.compress != "none" else ""

    def lines(self) -> list[str]:
        """How to start several ranks, if there is one."""
        alone = "one rank averages with nobody; for more: mpirun -n 2 python -m reference.train"
        return [] if self.ranks > 1 else [alone]

    def part(self, comm, model: nn.Module) -> Part:
        """All of the model. Collective."""
        return Part(comm, model, (comm.rank, comm.size))

    def trainer(self, part: Part) -> tuple[Any, Optimizer, Callable[[], Any]]:
        """What goes backward, as a Replica does, the optimizer, and what takes a step. Collective."""
        chosen = self.chosen
        replica = Replica(part.copies, part.module, chosen.bucket, order=chosen.order, communicate=part.communicate)
        replica.communicate = hooks.chosen(chosen.compress, replica)
        optimizer = make_optimizer(chosen, part.module.parameters())
        return replica, optimizer, optimizer.step

    def parts(self, trainer: Any) -> dict[str, Any]:
        """What of an `InTraining` the trainer is."""
        return {"replica": trainer}

    def train(self, comm, model: nn.Module, data: Data) -> Trained:
        """Raises BadInput on every rank if a gradient cannot be encoded, for it is NaN."""
        chosen, losses, seconds = self.chosen, [], []
        replicate.broadcast_parameters(comm, model)
        part = self.part(comm, model)
        if chosen.recompute != "none":
            recompute(part.module.get_submodule(part.prefix.rstrip(".")), chosen.recompute)
        replica, optimizer, step = self.trainer(part)
        named = [(name.removeprefix(part.prefix), weight) for name, weight in part.module.named_parameters()]
        training = InTraining(named, [optimizer], losses, **self.parts(replica))
        for number in self.between(training, progress(comm, chosen, self.first)):
            mine = part.own(batch(data, chosen.batch, number, chosen.seed, *part.share))
            start = mpi.wtime(comm)
            try:
                loss, count = accumulate(replica, part.loss_sum, mine, chosen.micro_batches)
            except CannotEncode as error:
                told = f"--compress {chosen.compress}, step {number}: {error}; try a smaller --rate"
                raise cli.BadInput(told) from None
            step()
            seconds.append(mpi.wtime(comm) - start)
            losses.append(part.copies.allreduce(loss) / count)
        part.collect()
        return Trained(losses, seconds)
