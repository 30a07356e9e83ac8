"""Memory against seconds: two blocks of a GPT by every method, on one scale.

Idea      Whatever a method keeps and computes again, it ends as operations in an order. `graph.recorded` hears them,
          and `rematerialize.plan_cost` says what they take: peak bytes of activations, seconds by the roofline. So full
          and selective checkpoints, torch's partitioner and Checkmate are points in one picture. What a block keeps
          for its backward pass matters only if another block works meanwhile: hence two.
Exact     The points of data/two_blocks.csv are recorded, for the integer programme takes up to a minute each. A plan of
          Checkmate is stored as its order: bytes and seconds follow from it anew (tests/recompute/test_curve.py).
Try       for point in two_blocks(): print(point.method, point.setting, point.peak, point.seconds)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..models import Config, generator
from ..models.gpt import Block
from ..models.seeds import seeded
from ..perf.roofline import Device
from .by_torch import ATTENTION, MATMULS, Forward, checkpointed, one_after_the_other, selective
from .graph import OperationGraph, recorded
from .rematerialize import plan_cost

FLOAT32 = Device(flops=19.5e12, bandwidth=2.039e12)
"""An A100 (SXM, 80 GB) without its tensor cores, from NVIDIA's data sheet: at the small width of these blocks products
are limited by arithmetic then, and norms by memory, as at the widths of large models with tensor cores."""

SHAPE = Config(length=256, width=256, heads=4)
COMMAND = "python -m tests.recompute.record_curve"  # writes the data


class CurvePoint(NamedTuple):
    """A method with its setting: peak bytes of activations, seconds of both passes; of a plan its order."""

    method: str
    setting: str
    peak: int
    seconds: float
    order: tuple[int, ...] = ()


@cache
def blocks() -> tuple[nn.Sequential, Tensor, Tensor]:
    """The two blocks, x [1, 256, 256] and the gradient of what they put out."""
    with seeded(1):
        made = nn.Sequential(Block(SHAPE), Block(SHAPE)).eval()  # without dropout there is none to repeat
    random = generator(2)
    x, dy = (torch.randn(1, SHAPE.length, SHAPE.width, generator=random) for _ in range(2))
    return made, x.requires_grad_(), dy


def watched_point(method: str, setting: str, forward: Forward) -> CurvePoint:
    """The point of a forward pass of these blocks, whatever it keeps."""
    found = plan_cost(*_in_order(graph(forward)))
    return CurvePoint(method, setting, found.peak, found.seconds)


def graph(forward: Forward | None = None) -> OperationGraph:
    """The graph of both passes, everything once unless `forward` computes again."""
    made, x, dy = blocks()
    return recorded(made, x, FLOAT32, dy, forward)


def _in_order(made: OperationGraph) -> tuple[OperationGraph, range]:
    return made, range(len(made))


def by_policies() -> Iterator[CurvePoint]:
    """The points that need no solver and no compiler."""
    made = blocks()[0]
    yield watched_point("keep all", "", one_after_the_other(made))
    yield watched_point("full checkpoints", "each block", checkpointed(made))
    yield watched_point("selective", "products and attention kept", selective(made, MATMULS + ATTENTION))
    yield watched_point("selective", "products kept", selective(made, MATMULS))
    yield watched_point("selective", "attention kept", selective(made, ATTENTION))


def two_blocks() -> list[CurvePoint]:
    """All points, as recorded."""
    lines = (files(__package__) / "data" / "two_blocks.csv").read_text().splitlines()
    return [
        CurvePoint(method, setting, int(peak), float(seconds), tuple(map(int, order.split())))
        for method, setting, peak, seconds, order in csv.reader(lines[1:])
    ]
