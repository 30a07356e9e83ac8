"""A stage observed: what a meter counts of a small model that trains, beside what memory.py says of it.

Idea      A chain of linear layers trains for three steps with Adam, all in float32, flat shards, buckets of one layer
          each or a unit each. The meter knows four kinds of memory, so weights go with gathered units here, and
          gradients with buckets. What the optimizer makes while it steps is left out: its state between steps counts.
Exact     Weights and state, to the byte, on every rank. Gradients, too, where a rank runs alone; else the memory of a
          message is free when the last rank has it, as the virtual cluster keeps it, which may be a little later.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import torch
from torch import nn

from ..perf.meter import Meter
from ..perf.recipes import ADAM
from .memory import Setting, between, moments
from .shards import flat
from .stage1 import Stage1
from .stage2 import Stage2
from .stage3 import Stage3

SIZES = (40, 64, 48, 32, 10)
GROUPS = tuple(map(prod, pairwise(SIZES)))
"""Parameters of each layer: a bucket, or a unit of stage 3."""

STEPS = 3
BUCKET = 1  # bytes: a bucket for each layer
OBSERVED = ("weights", "gradients", "optimizer")
STAGE = {1: Stage1, 2: Stage2, 3: Stage3}


class Seen(NamedTuple):
    """Bytes by kind of one rank: between steps and at each kind's peak, counted by a meter and worked out."""

    counted: dict[str, int]
    counted_peak: dict[str, int]
    expected: dict[str, int]
    expected_peak: dict[str, int]

    @property
    def off(self) -> float:
        """The largest relative difference."""
        pairs = ((self.counted, self.expected), (self.counted_peak, self.expected_peak))
        return max(abs(a[kind] - b[kind]) / max(b[kind], 1) for a, b in pairs for kind in OBSERVED)


def chain() -> nn.Sequential:
    """The small model: linear layers, each with its activation a unit of stage 3. The same on every rank."""
    draw = torch.Generator().manual_seed(1)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(*pair, bias=False), nn.Tanh()) for pair in pairwise(SIZES)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) / 8)
    return model


def observe(comm, stage: int, steps: int = STEPS, K: int = 1, **options: Any) -> Seen:
    """Train the small model at stage 1, 2 or 3 and count. Collective. K: micro-batches; options: of the stage."""
    model = chain()
    meter = Meter(module=model)
    if stage < 3:
        options = {"bucket_bytes": BUCKET, "first_bucket_bytes": BUCKET, "waiting": 0} | options
    zero = STAGE[stage](comm, model, torch.optim.Adam, cut=flat, hold=meter.hold, **options)
    meter.hold("weights", *[group.master for group in zero.groups])
    meter.optimizer = zero.optimizer
    x = torch.ones(3, SIZES[0])
    with meter:
        for _ in range(steps):
            for k in range(K):
                zero.backward(model(x).pow(2).sum(), len(x), sync=k == K - 1)
            zero.step()
    comm.Barrier()  # what is under way elsewhere keeps memory
    counters = sum(state["step"].nbytes for state in zero.optimizer.state.values())
    live, peak = meter.live, meter.peak
    counted = {kind: live[kind] for kind in OBSERVED} | {"optimizer": live["optimizer"] - counters}
    return Seen(
        counted,
        {"weights": peak["weights"], "gradients": peak["gradients"], "optimizer": counted["optimizer"]},
        *expected(Setting(GROUPS, comm.size, stage, ADAM), comm.rank),
    )


def expected(setting: Setting, rank: int) -> tuple[dict[str, int], dict[str, int]]:
    """What a meter should count: between steps, and at each kind's peak. The last ranks have less state, no padding."""
    here = between(setting)
    real = sum(min(max(g - rank * n, 0), n) for g, n in zip(setting.groups, setting.shards))
    every = [moment.held for moment in moments(setting)]
    state = {"optimizer": setting.recipe.optimizer * real}
    return (
        {"weights": here.weights, "gradients": here.gradients} | state,
        {
            "weights": max(held.weights + held.gathered for held in every),
            "gradients": max(held.gradients + held.buckets for held in every),
        }
        | state,
    )
