"""What tests of pipelines share: a step through a pipeline, and the serial program that it has to equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reference.models import Data, cross_entropy_sum, seeded
from reference.models.loss import targets
from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.schedule import Schedule
from reference.pipeline.stages import cut, layers
from reference.worlds import Run, launch


class Result(NamedTuple):
    """What a rank has after the last step: losses of all steps, gradients and weights by name, and what it measured."""

    losses: list[float]
    gradients: dict[str, Tensor]
    weights: dict[str, Tensor]
    peak: float
    seen: dict[tuple[int, int], int]


def evenly(model: nn.Module, stages: int) -> list[int]:
    """Ends of stages with equally many layers, or one more or less."""
    number = len(layers(model))
    return [number * (s + 1) // stages for s in range(stages)]


def pipelined(
    comm, schedule: Schedule, make: Callable[[], nn.Module], steps: Sequence[list[Data]], **options
) -> Result:
    """Steps on these lists of micro-batches."""
    model = make()
    stages = cut(model, evenly(model, schedule.stages))
    own = {s: stages[s] for s in schedule.chunks[comm.rank]}
    pipeline = Pipeline(comm, schedule, own, **options)
    losses = [pipeline.step(micro_batches, step) for step, micro_batches in enumerate(steps)]
    parameters = {stage.first_names[n]: p for stage in own.values() for n, p in stage.named_parameters()}
    return Result(
        losses,
        {name: p.grad for name, p in parameters.items() if p.grad is not None},
        {name: p.detach() for name, p in parameters.items()},
        pipeline.peak_activations,
        pipeline.seen,
    )


def run(
    schedule: Schedule, make: Callable[[], nn.Module], *steps: list[Data], world: str = "virtual", **options
) -> Run:
    """`pipelined` on as many ranks as the schedule has."""
    return launch(partial(pipelined, **options), schedule.ranks, schedule, make, steps, world=world)


def serial(model: nn.Module, stages: int, micro_batches: list[Data], step: int = 0, seed: int = 0) -> float:
    """The same on one device without any schedule: one micro-batch after the other, with the same dropout masks."""
    model.zero_grad()
    chain, count, losses = cut(model, evenly(model, stages)), sum(map(targets, micro_batches)), 0.0
    for i, (x, y) in enumerate(micro_batches):
        for s, stage in enumerate(chain):
            with seeded(seed, step, s, i):
                x = stage(x)
        total = cross_entropy_sum(x, y)
        if total.requires_grad:
            (total / max(count, 1)).backward()
        losses += total.item()
    return losses / max(count, 1)


def gathered(results: Sequence[Result], what: str = "gradients") -> dict[str, Tensor]:
    """Gradients or weights of all ranks by name; copies of one parameter must be the same bits."""
    found: dict[str, Tensor] = {}
    for result in results:
        for name, tensor in getattr(result, what).items():
            assert torch.equal(found.setdefault(name, tensor), tensor), f"copies of {name} differ"
    return found
