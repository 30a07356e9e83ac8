"""Training through a pipeline, or through several side by side: what the serial trainer does, on many ranks.

Idea      Of P ranks, p make a pipeline. If P is k p, there are k of them, and each takes its share of every batch: data
          parallelism over pipelines. The ranks that have the same stages average their gradients after the step.
          The model is cut so that the slowest stage has the fewest FLOPs (partition.py).
Before    models.train(model, data, optimizer, ...)
After     the same losses and weights, each rank with gradients and optimizer state of its own stages only
Left out  Averaging while the backward passes go on (data_parallel/replica.py does): the gradients of a stage are
          complete when the last micro-batch is through. The whole model is built on each rank, for it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

import torch
from torch import nn

from ... import mpi
from ...data_parallel import replicate
from ...data_parallel.accumulation import micro_batches
from ...data_parallel.average import average_gradients, trained_gradients
from ...data_parallel.between import Between, InTraining, straight_on
from ...data_parallel.groups import check_groups, groups
from ...models import Data, batch
from ...models.loss import targets
from ...perf.roofline import Device
from ..messages import check_tags
from ..schedule import Schedule
from ..simulate import Costs, Times, activations, simulate
from ..sizing.partition import partition
from ..sizing.profile import profile
from ..stages import Stage, cut, layers
from .executor import Optimizers, Pipeline
from .recompute import recompute_stages


class PipelineResult(NamedTuple):
    """What came of it: of each step the mean loss over the batch, this rank's seconds, and when each action was done;
    and the most micro-batches whose activations each rank of the pipeline held, each stage counted by itself."""

    losses: list[float]
    seconds: list[float]
    times: list[Times]
    peaks: list[int]

    @property
    def typical(self) -> Times:
        """The step of median length; without the first one, which agrees on shapes, if there are others."""
        steps = self.times[1:] or self.times
        return sorted(steps, key=lambda times: times.makespan)[len(steps) // 2]

    def beside(self) -> dict[str, dict]:
        """Makespan (seconds), bubble and peaks of that step: "measured", and "simulated" with the seconds that each
        stage took for each kind of action, and messages that take no time."""
        simulated = simulate(self.typical.schedule, measured(self.typical))
        return {
            "measured": {"makespan": self.typical.makespan, "bubble": self.typical.bubble, "peaks": self.peaks},
            "simulated": {
                "makespan": simulated.makespan,
                "bubble": simulated.bubble,
                "peaks": activations(simulated.schedule),
            },
        }


def train_pipeline(
    comm,
    schedule: Schedule,
    model: nn.Module,
    data: Data,
    optimizer: Optimizers,
    steps: Iterable[int],
    size: int,
    seed: int = 0,
    between: Between = straight_on,
    recompute: str = "none",
) -> PipelineResult:
    """Train the model in place on batches of `size` samples; in the end every rank has all of it.

    steps: their numbers, such as range(100); between: what happens between them; recompute: a policy for the blocks.
    Collective. Raises ValueError on every rank as `check_training` and `check_recompute` do.
    """
    check_training(comm.size, schedule, model)
    pipe, copies = groups(comm, schedule.ranks, "pp")
    stages = cut(model, balanced(model, data.x[: max(size // schedule.micro_batches, 1)], schedule.stages))
    replicate.broadcast_parameters(comm, model)
    many = copies.size > 1
    masks = seed + comm.rank - pipe.rank  # of dropout: the same on all ranks of a pipeline, others in each pipeline
    whole_stages = recompute_stages(model, stages, schedule, recompute)
    updated = None if many else optimizer
    pipeline = Pipeline(pipe, schedule, stages, recompute=whole_stages, optimizer=updated, seed=masks)
    weights = [w for w in nn.ModuleList(pipeline.stages.values()).parameters() if w.requires_grad]
    own = optimizer(weights) if many and weights else None
    losses, seconds, times = [], [], []
    named = [(name, copy) for name, here in pipeline.shared.copies.items() for copy in here]
    optimizers = [own] if own else list(pipeline.optimizers.values())
    for number in between(InTraining(named, optimizers, losses, comms={"copies": copies}), steps):
        part = batch(data, size, number, seed, copies.rank, copies.size)
        start = mpi.wtime(comm)
        losses.append(_step(pipeline, copies, weights, own, part, number))
        seconds.append(mpi.wtime(comm) - start)
        times.append(pipeline.times())
    collect(pipe, copies, schedule, stages)
    return PipelineResult(losses, seconds, times, pipe.allgather(pipeline.peak_activations))


def _step(pipeline: Pipeline, copies, weights: list, own: torch.optim.Optimizer | None, part: Data, number: int):
    """A step on this pipeline's part of a batch, with the update that waits for the other pipelines, if there are any;
    the mean loss over the whole batch."""
    loss = pipeline.step(micro_batches(part, pipeline.schedule.micro_batches), number)
    if copies.size > 1:
        loss = average(copies, weights, loss, targets(part))
        if own:
            own.step()
    return loss


def check_training(ranks: int, schedule: Schedule, model: nn.Module) -> None:
    """Raise ValueError unless `ranks` ranks can train this model so; what `train_pipeline` checks first."""
    p, N = schedule.ranks, len(layers(model))
    check_groups(ranks, p, "pipeline")
    check_tags(schedule.stages, schedule.micro_batches)
    if ranks > p and schedule.weights != "flush":
        raise ValueError(
            f"{schedule.name} updates while micro-batches are under way, so that {ranks // p} pipelines have no moment "
            f"at which to average: start {p} ranks, or take a schedule that flushes"
        )
    if schedule.stages > N:
        raise ValueError(
            f"{schedule.stages} stages and a model of {N} layers: a stage needs at least one layer (so layers >= "
            f"stages, and not devices >= layers). Take {N} stages at most, or a model of more layers"
        )


def balanced(model: nn.Module, x: torch.Tensor, stages: int) -> tuple[int, ...]:
    """Where the stages end so that the slowest one has the fewest FLOPs for x. Raises ValueError for too few layers."""
    return partition(profile(model, x, Device(1.0, inf)), stages).ends


def average(copies, weights: Sequence[nn.Parameter], loss: float, count: int) -> float:
    """Turn the pipelines' gradients of means over `count` targets into that of the mean over all; its loss."""
    for gradient in trained_gradients(weights):
        gradient.mul_(count)
    total = average_gradients(copies, weights, count)
    return copies.allreduce(loss * count) / total


def collect(pipe, copies, schedule: Schedule, stages: Sequence[Stage]) -> None:
    """Give every rank all stages. Raises replicate.Diverged if pipelines that should be alike are not."""
    for s in schedule.chunks[pipe.rank]:
        replicate.check_replicas(copies, stages[s])
    for s, stage in enumerate(stages):
        replicate.broadcast_parameters(pipe, stage, root=schedule.home[s, 0])


def measured(times: Times) -> Costs:
    """The seconds that each stage took for each kind of action, medians: what a simulation of the same step needs."""
    schedule = times.schedule
    taken: dict[tuple[str, int], list[float]] = {}
    overlapped = schedule.overlapped or [frozenset()] * schedule.ranks
    for order, starts, ends, pairs in zip(schedule, times.starts, times.ends, overlapped):
        for place, (action, start, end) in enumerate(zip(order, starts, ends)):
            if place - 1 not in pairs:
                kind = "pair" if place in pairs else action.kind
                taken.setdefault((kind, action.stage), []).append(end - start)

    def of(kind: str) -> list[float]:
        return [median(taken.get((kind, s), [0.0])) for s in range(schedule.stages)]

    F, I, W, B, S = map(of, "FIWBS")  # noqa: E741
    return Costs(F, I, W, B, S, pair=of("pair") if any(overlapped) else None)
