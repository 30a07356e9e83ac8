"""Layouts in several dimensions: data, tensor, pipeline and context parallelism and ZeRO in any combination.

Idea      As `mesh/training.py` says. Each of --data, --tensor, --stages and --context is an axis of a mesh, whose order
          --mesh chooses; their product is the number of ranks, and --data may be left out: what remains. --zero cuts
          the state of training among the ranks of data and context parallelism.
Exact     The losses are the serial program's, also with --clip, for the norm counts each element once.
"""

from __future__ import annotations

import argparse
from functools import partial
from math import prod
from typing import ClassVar, cast

from torch import nn

from .. import cli
from ..data_parallel.groups import check_groups
from ..mesh import STANDARD, Axes
from ..mesh.training import Composition, refused, train_on_mesh
from ..models import GPT, Data
from ..pipeline.runtime import trainer
from .context_parallel import share_tokens
from .layout import OPTIMIZERS, Layout, Option, Trained, config, progress
from .pipeline import make_schedule
from .tensor_parallel import check_tensor

DEGREES = {"data": "dp", "stages": "pp", "context": "cp", "tensor": "tp"}
"""The options that are axes of the mesh."""
ORDER = "-".join(STANDARD)


def degrees(chosen: argparse.Namespace) -> dict[str, int]:
    """What was asked for, of --stages, --context and --tensor: 1 where nothing was."""
    return {name: getattr(chosen, name) or 1 for name in ("stages", "context", "tensor")}


def in_words(sizes: dict[str, int]) -> str:
    """Degrees as they are typed: "--stages 2 x --tensor 2"."""
    return " x ".join(f"--{name} {size}" for name, size in sizes.items() if size > 1) or "one rank"


class Composed(Layout):
    """A rank has some layers of the model, a part of each, some tokens of each sequence, and a share of the batch."""

    name = "a mesh"
    group = "copy of the model"
    switch = "data"
    asks = "how many copies of the model share a batch"
    options: ClassVar = {
        "data": Option(None, {"type": int, "metavar": "D", "help": "groups that share a batch (default: the rest)"}),
        "mesh": Option(ORDER, {"metavar": "ORDER", "help": f"of the axes, the outermost first (default: {ORDER})"}),
    }
    others = (
        *("stages", "schedule", "chunks", "timeline", "tensor", "sequence_parallel", "overlap", "pad"),
        *("context", "attention", "tokens", "zero", "clip", "recompute"),
    )

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        super().__init__(ranks, chosen)
        if chosen.model != "gpt":
            raise ValueError(f"a mesh shares the layers of a GPT: take --model gpt, got --model {chosen.model}")
        c, t = chosen.context or 1, chosen.tensor or 1
        self.axes, self.schedule = mesh_of(ranks, chosen), make_schedule(chosen, chosen.stages or 1)
        trainer.check_training(self.schedule.ranks, self.schedule, self.build(0))
        of, tokens = config(chosen), None
        if c > 1:
            tokens = share_tokens(chosen, c, of.length, max(of.heads // t, 1), max(of.groups // t, 1))
        check_tensor(chosen, t, of._replace(length=of.length // c))
        form = {"sequence": chosen.sequence_parallel, "overlap": chosen.overlap, "pad": chosen.pad}
        self.how = Composition(
            self.axes, self.schedule, chosen.zero or 0, chosen.clip, chosen.recompute, tokens, chosen.attention, form
        )
        if why := refused(self.how):
            raise ValueError(why)
        if chosen.timeline and self.how.zero > 1:
            raise ValueError(f"--timeline shows the actions of a schedule, and --zero {self.how.zero} has none")

    @classmethod
    def ranks_of_a_group(cls, chosen: argparse.Namespace) -> int:
        """How many ranks share a copy of the model."""
        return prod(degrees(chosen).values())

    @classmethod
    def check_ranks(cls, ranks: int, chosen: argparse.Namespace) -> None:
        """Raise BadInput unless the degrees multiply to the ranks."""
        sizes, N = degrees(chosen), cls.ranks_of_a_group(chosen)
        if chosen.data is None:
            try:
                check_groups(ranks, N, cls.group)
            except ValueError as error:
                raise cli.BadInput(f"{in_words(sizes)}: {error}") from None
        elif chosen.data * N != ranks:
            fits = f"--data {ranks // N}" if ranks % N == 0 else f"degrees whose product divides {ranks}"
            raise cli.BadInput(
                f"{in_words({'data': chosen.data, **sizes})} are {chosen.data * N} ranks, and {ranks} are running: "
                f"start {chosen.data * N} with mpirun -n {chosen.data * N}, or take {fits}"
            )

    @classmethod
    def default_micro_batches(cls, chosen: argparse.Namespace) -> int:
        """Two for each rank of a pipeline; one without pipelines."""
        return 2 * chosen.stages if (chosen.stages or 1) > 1 else 1

    @property
    def layers(self) -> int:
        """As many as there are stages."""
        return max(2, self.schedule.stages)

    @property
    def kept(self) -> int:
        """When each action began and ended."""
        return sum(map(len, self.schedule))

    @property
    def inexact(self) -> str:
        """Gradients that are late are not those of the serial program."""
        return f"gradients are late with {self.schedule.name}" if self.schedule.weights != "flush" else ""

    def lines(self) -> list[str]:
        """The mesh, and what else was asked for."""
        m, zero = self.schedule.micro_batches, self.how.zero
        parts = [f"mesh {self.axes}, outermost first", f"{m} micro-batch{'es' * (m > 1)}"]
        parts += [self.schedule.name] if self.axes.sizes["pp"] > 1 else []
        parts += [f"ZeRO stage {zero} among {self.axes.sizes['dp'] * self.axes.sizes['cp']}"] if zero else []
        return [", ".join(parts)]

    def train(self, comm, model: nn.Module, data: Data) -> Trained:
        """As `train_on_mesh` does; of pipelines a step beside its simulation, too."""
        chosen, steps = self.chosen, progress(comm, self.chosen, self.first)
        optimizer = partial(OPTIMIZERS[chosen.optimizer], lr=chosen.rate)
        done = train_on_mesh(
            comm, self.how, cast(GPT, model), data, optimizer, steps, chosen.batch, chosen.seed, self.between
        )
        about = {"mesh": self.axes.sizes, "zero": self.how.zero, "schedule": self.schedule.name}
        about |= {"stages": self.schedule.stages, "late": bool(self.inexact)}
        if self.axes.sizes["pp"] == 1 or not done.times:  # there are none if it was resumed after the last step
            return Trained(done.losses, done.seconds, about, done.typical if done.times else None)
        return Trained(done.losses, done.seconds, about | done.beside(), done.typical)


def mesh_of(ranks: int, chosen: argparse.Namespace) -> Axes:
    """The axes that were asked for; what remains of the ranks is data parallelism. Raises BadInput for no order."""
    sizes = {DEGREES[name]: size for name, size in degrees(chosen).items()}
    sizes["dp"] = ranks // prod(sizes.values())
    if sorted(chosen.mesh.split("-")) != sorted(STANDARD):
        raise cli.BadInput(f"--mesh is an order of {', '.join(STANDARD)}, such as pp-dp-cp-tp, got {chosen.mesh!r}")
    return Axes.in_order(chosen.mesh, **sizes)
