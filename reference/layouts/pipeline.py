"""Pipelines: the model is cut between layers, and each pipeline takes its share of every batch.

Idea      As `pipeline/runtime/trainer.py` says. A step is also simulated, with the seconds that its actions took.
Exact     With PipeDream and 2BW the losses may differ from the serial program's, for their gradients are late.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import ClassVar

from torch import nn

from .. import cli
from ..models import Data
from ..pipeline.messages import check_tags
from ..pipeline.runtime import trainer
from ..pipeline.runtime.recompute import check_recompute
from ..pipeline.schedule import Schedule
from ..pipeline.schedules.catalogue import SCHEDULES, make, stages
from .layout import Layout, Option, Trained, make_optimizer, progress

MOST_STAGES = 128  # as many layers as the largest language models have; every rank builds all of them


def make_schedule(chosen: argparse.Namespace, p: int) -> Schedule:
    """The schedule that was asked for, on p ranks. Raises BadInput or ValueError if there is none."""
    m, v = chosen.micro_batches, chosen.chunks
    name = SCHEDULES.canonical_name(chosen.schedule)
    if name == "1F1B" and v and v > 1:
        name = "interleaved 1F1B"
    S = stages(name, p, v)
    cli.check_range(f"the stages of {p} ranks", S, 1, MOST_STAGES, "each has a layer; take fewer --chunks")
    check_tags(S, m)
    return make(name, p, m, v)


class Pipeline(Layout):
    """Each rank has some layers; micro-batches go through them in the order of a schedule."""

    name = "pipelines"
    group = "pipeline"
    switch = "stages"
    options: ClassVar = {
        "stages": Option(None, {"type": int, "help": "ranks of a pipeline, which divide the ranks"}),
        "schedule": Option("1F1B", {"help": f"{', '.join(SCHEDULES)} (default: 1F1B)"}),
        "chunks": Option(None, {"type": int, "help": "stages that each rank has, where a schedule leaves the choice"}),
        "timeline": Option(
            None, {"metavar": "FILE", "help": "write a step of the pipeline as JSON for ui.perfetto.dev"}
        ),
    }

    others = ("recompute",)

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        super().__init__(ranks, chosen)
        self.schedule = make_schedule(chosen, chosen.stages)
        check_recompute(chosen.recompute, self.schedule)
        self.stages = self.schedule.stages
        trainer.check_training(ranks, self.schedule, self.build(0))

    @classmethod
    def default_micro_batches(cls, chosen: argparse.Namespace) -> int:
        """Two for each rank of a pipeline."""
        return 2 * chosen.stages

    @property
    def layers(self) -> int:
        """As many as there are stages."""
        return max(2, self.stages)

    @property
    def kept(self) -> int:
        """When each action began and ended."""
        return sum(map(len, self.schedule))

    @property
    def inexact(self) -> str:
        """Gradients that are late are not those of the serial program."""
        return f"gradients are late with {self.schedule.name}" if self.schedule.weights != "flush" else ""

    def lines(self) -> list[str]:
        """Pipelines, stages, micro-batches, and the schedule."""
        p, pipelines, each = self.schedule.ranks, self.ranks // self.schedule.ranks, len(self.schedule.chunks[0])
        many = f"{pipelines} pipelines of " if pipelines > 1 else ""
        parts = f"{p} rank{'s' * (p > 1)} with {each} stage{'s' * (each > 1)}{' each' * (p > 1)}"
        return [f"{many}{parts}, {self.schedule.micro_batches} micro-batches, {self.schedule.name}"]

    def train(self, comm, model: nn.Module, data: Data) -> Trained:
        """As `train_pipeline` does; and a step beside its simulation."""
        chosen, steps = self.chosen, progress(comm, self.chosen, self.first)
        optimizer = partial(make_optimizer, chosen)
        done = trainer.train_pipeline(
            comm,
            self.schedule,
            model,
            data,
            optimizer,
            steps,
            chosen.batch,
            chosen.seed,
            self.between,
            chosen.recompute,
        )
        about = {"schedule": self.schedule.name, "stages": self.schedule.stages, "late": bool(self.inexact)}
        if not done.times:  # it was resumed after the last step
            return Trained(done.losses, done.seconds, about)
        return Trained(done.losses, done.seconds, about | done.beside(), done.typical)
