"""What a layout does on a machine: seconds, memory, speed, and what limits it."""

from __future__ import annotations

from typing import NamedTuple

from .architecture import Architecture
from .bytes_held import RankBytes, held
from .cluster import Cluster
from .spec import LayoutSpec
from .step_seconds import StepSeconds, step_seconds


class Prediction(NamedTuple):
    """A layout with its price.

    mfu                share of the accelerators' peak that the model's own FLOPs take (attention's whole square)
    tokens_per_second  of all ranks together
    fits               whether the rank that holds most has the memory
    limit              "memory" if it does not fit, else the largest of the terms that are not products or attention
    """

    spec: LayoutSpec
    seconds: StepSeconds
    held: RankBytes
    mfu: float
    tokens_per_second: float
    fits: bool
    limit: str


def predict(
    architecture: Architecture, cluster: Cluster, spec: LayoutSpec, global_batch: int, length: int | None = None
) -> Prediction:
    """The price of a layout. Raises ValueError for one that cannot be (spec.check)."""
    spec.check(architecture, cluster, global_batch, length)
    return priced(architecture, cluster, spec, global_batch, length)


def priced(
    architecture: Architecture, cluster: Cluster, spec: LayoutSpec, global_batch: int, length: int | None = None
) -> Prediction:
    """The same without the check, for a search that has asked spec.trouble."""
    seconds = step_seconds(architecture, spec, cluster, global_batch, length)
    memory = held(architecture, spec, cluster, global_batch, length)
    rate = global_batch * (length or architecture.length) / seconds.total
    mfu = rate * architecture.flops_a_token(length) / (spec.ranks * cluster.accelerator.flops)
    lost = {name: x for name, x in seconds._asdict().items() if name not in ("matmul", "attention")}
    fits = memory.total <= cluster.memory
    limit = max(lost, key=lambda name: lost[name]) if fits else "memory"
    return Prediction(spec, seconds, memory, mfu, rate, fits, limit)
