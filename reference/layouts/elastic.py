"""`reference.train --elastic`: ranks may die at any instant, and the others go on with the same global batches.

Idea      When a rank dies, the others shrink their communicator (`recovery/shrink.py`), make a layout for those that
          are left, put a saved state in, and go on. The global batch and the learning rate stay as they were, and a
          micro-batch has no more samples than before, so a rank whose share has grown takes more micro-batches.
          Where all ranks have all of the state, it comes from memory: after each step a rank copies weights, optimizer
          and losses, and the newest copy that a survivor has is everybody's. It is of a whole step: what the
          interrupted one had changed already is undone by it.
          With --checkpoint it comes from the newest checkpoint, for ZeRO's shards, too: whoever has died had some.
Price     From memory: the state twice, and the time to copy it in each step. From disk: the steps since the save.
Exact     Survivors may be a step apart (`recovery/replicated.py`). Which samples follow is a function of the step
          (`models/batches.py`). So the losses are those of the serial program, whoever died.
Left out  Layouts with communicators of their own, for all of these had to be revoked, too: `reference.supervise` starts
          them again. New ranks in the place of the dead (`recovery/spare.py`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from torch import nn

from .. import cli, mpi
from ..data_parallel.between import InTraining
from ..models import Data
from ..networks import uniform
from ..recovery.elastic import resized
from ..recovery.replicated import newest_state
from ..recovery.shrink import Shrunk, leave, survive, why_not
from .checkpoints import NEWEST, Checkpoints
from .data_parallel import DataParallel
from .layout import Layout, Trained
from .zero import Zero


def check(comm, kind: type[Layout], chosen: argparse.Namespace) -> None:
    """Raise BadInput if --elastic cannot be: these ranks would not survive, or their state would not."""
    if why := why_not(comm):
        raise cli.BadInput(f"--elastic: {why}")
    instead = "use --checkpoint and python -m reference.supervise"
    if kind not in (DataParallel, Zero) or chosen.shard_groups or chosen.offload:
        raise cli.BadInput(f"--elastic is for data parallelism, and for --zero 1, 2 and 3 without more: {instead}")
    if kind is Zero and not chosen.checkpoint:
        raise cli.BadInput("--elastic with --zero: say with --checkpoint where dead ranks' shards are read from")


class Memory:
    """A rank's copy of the training after its last whole step.

    copy   what `_take` puts in, the same on all ranks after a step; nothing before there is one
    """

    def __init__(self) -> None:
        self.copy: dict[str, Any] = {"step": 0}

    def newest(self, comm) -> int:
        """Take the newest copy of all ranks; after how many steps it was made, 0 at the beginning. Collective."""
        if found := newest_state(comm, self.copy["step"], self.copy, ()):
            self.copy = found[0]
        return self.copy["step"]

    def between(self, training: InTraining, steps: Iterable[int]) -> Iterator[int]:
        """Put the copy back, if there is one, then give the steps, and copy after each."""
        if self.copy["step"]:
            self._put_back(training)
        for number in steps:
            yield number
            self._take(training, number + 1)

    def _take(self, training: InTraining, step: int) -> None:
        self.copy = {
            "step": step,
            "weights": [parameter.detach().clone() for _, parameter in training.named],
            "optimizers": [deepcopy(optimizer.state_dict()) for optimizer in training.optimizers],
            "losses": list(training.losses),
        }

    def _put_back(self, training: InTraining) -> None:
        for (_, parameter), saved in zip(training.named, self.copy["weights"]):
            parameter.data.copy_(saved)
        for optimizer, saved in zip(training.optimizers, self.copy["optimizers"]):
            optimizer.load_state_dict(deepcopy(saved))
        training.losses[:] = self.copy["losses"]


class Survived(NamedTuple):
    """What came of it, on the survivors: their communicator, model and checkpoints, and who died each time."""

    done: Trained
    comm: Any
    model: nn.Module
    checkpoints: Checkpoints | None
    lost: list[list[int]]


def train(comm, layout: Layout, model: nn.Module, data: Data, checkpoints: Checkpoints | None) -> Survived:
    """Train as `layout.train` does, on as many ranks as live. Collective."""
    memory, chosen, lost = Memory(), layout.chosen, []
    most = -(-chosen.batch // (comm.size * chosen.micro_batches))
    now = layout, model, checkpoints

    def told(shrunk: Shrunk) -> None:
        lost.append(shrunk.lost)

    def work(comm) -> Trained:
        nonlocal now
        layout, model, checkpoints = now
        mpi.kept(comm).setdefault("fit", uniform())  # to measure the machine would take another communicator
        if lost:
            size = resized(comm.size, 1, layout.ranks, chosen.batch, chosen.rate, most)
            chosen.micro_batches = size.micro_batches
            layout, model = type(layout)(comm.size, chosen), layout.build(chosen.seed)
            if checkpoints:
                chosen.resume = NEWEST
                checkpoints = Checkpoints(comm, chosen)
                checkpoints.attach(layout)
        if not checkpoints:
            layout.first, layout.between = memory.newest(comm), memory.between
        tell(comm, chosen, lost, layout.first)
        now = layout, model, checkpoints
        return layout.train(comm, model, data)

    done, comm = survive(comm, work, told=told)
    return Survived(done._replace(about=done.about | {"lost": lost}), comm, *now[1:], lost)


def tell(comm, chosen: argparse.Namespace, lost: list[list[int]], step: int) -> None:
    """Say which process each rank is, for whoever wants to kill one; or who has died. Not in JSON. Collective."""
    processes = " ".join(map(str, comm.allgather(os.getpid())))
    said = f"elastic; processes of the ranks, to kill: {processes}"
    if lost:
        who = f"rank{'s' * (len(lost[-1]) > 1)} {', '.join(map(str, lost[-1]))}"
        said = f"{who} died: {comm.size} go on after step {step}, with the same batches"
    if comm.rank == 0 and not chosen.json:
        print(said, flush=True)


def ended(survived: Survived, status: int) -> int:
    """The exit status; real ranks that have outlived others do not come back from here."""
    if survived.lost and isinstance(survived.comm, mpi.Comm):
        leave(survived.comm, status)
    return status
