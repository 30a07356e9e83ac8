"""Micro-batches: how large and how many, if the batch is given: m = batch / b.

Idea      Many small ones shrink the bubble, (p - 1) t(b). But small ones are dear: a pass has costs that do not depend
          on b, such as launching kernels, products too small to fill a device, and the latency of messages. With
          t(b) = fixed + b slope, and work = batch * slope,

              step(m) = (m + p - 1) (fixed + work / m)      least at m = sqrt((p - 1) work / fixed):
                        (sqrt(work) + sqrt((p - 1) fixed))^2

          It is not the largest m for which m activations of one micro-batch fit: for a given batch these are m * (batch
          / m) samples, whatever m is, and 1F1B keeps no more than p micro-batches of batch / m. More micro-batches need
          LESS memory; what memory limits from above is b.
          Nor is it as many as the link can carry during a step: bytes and seconds of a micro-batch both go with b, so a
          link that is too slow is so for any m. Only its latency counts the micro-batches.
          m >= 4 p keeps the bubble below 20 %. Whether it is the best, `best_count` says: where work / fixed, what the
          whole batch takes over what one micro-batch wastes, is about 16 p.
Left out  Batches that may grow (data_parallel/batch_size.py). All micro-batches have the same size here.
Source    Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021): a
          step takes (m + p - 1) t(b), with t(b) the seconds of a micro-batch of b samples on a stage.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

from ..schedule import Schedule, check_count
from ..schedules.plain import one_f_one_b
from ..simulate import Costs, activations, simulate


class MicroBatchChoice(NamedTuple):
    """m micro-batches of b samples: seconds of a step, its bubble share, bytes of the fullest rank."""

    b: int
    m: int
    seconds: float
    bubble: float
    nbytes: float


def affine(fixed: float, slope: float, alpha: float = 0.0, beta: float = 0.0) -> Callable[[int], Costs]:
    """b -> costs of a stage: forward takes fixed + b slope seconds, backward twice that, a message alpha + b beta."""

    def costs(b: int) -> Costs:
        forward = fixed + b * slope
        return Costs(forward, forward, forward, send=alpha + b * beta)

    return costs


def table(
    batch: int,
    p: int,
    costs: Callable[[int], Costs],
    schedule: Callable[[int, int], Schedule] = one_f_one_b,
    weights: float = 0.0,
    kept: float = 0.0,
) -> list[MicroBatchChoice]:
    """Every b that divides the batch, as the simulator times it.

    costs     b -> what the actions of a stage take, by formula or measured
    weights   bytes of a stage that do not depend on b; kept: those that one sample leaves behind in a stage

    Raises ValueError for a batch without samples.
    """
    check_count("batch (samples)", batch)
    found = []
    for b in (b for b in range(1, batch + 1) if batch % b == 0):
        order = schedule(p, batch // b)
        times = simulate(order, costs(b))
        found.append(
            MicroBatchChoice(b, batch // b, times.makespan, times.bubble, weights + max(activations(order)) * b * kept)
        )
    return found


def choose(
    batch: int,
    p: int,
    costs: Callable[[int], Costs],
    schedule: Callable[[int, int], Schedule] = one_f_one_b,
    weights: float = 0.0,
    kept: float = 0.0,
    memory: float = inf,
) -> MicroBatchChoice:
    """The fastest that fits into `memory` bytes a rank; of equals the one with fewer micro-batches.

    Raises ValueError if none fits, as micro-batches of one sample are too large, or for a batch without samples.
    """
    choices = table(batch, p, costs, schedule, weights, kept)
    fitting = [choice for choice in choices if choice.nbytes <= memory]
    if not fitting:
        least = min(choices, key=lambda choice: choice.nbytes)
        raise ValueError(
            f"{memory:.4g} bytes a rank hold no micro-batch: with {least.m} of {least.b} sample(s) a rank still needs "
            f"{least.nbytes:.4g}, {weights:.4g} of them for weights. Take more stages, recompute, or cut the sequence"
        )
    return min(fitting, key=lambda choice: (choice.seconds, choice.m))


def best_count(p: int, fixed: float, work: float) -> float:
    """m, not rounded, of the shortest step; work: seconds of the whole batch on a stage, but for the fixed costs.

    fixed and work each count forward and backward together.
    """
    return sqrt((p - 1) * work / fixed) if fixed else inf


def step_seconds(p: int, m: float, fixed: float, work: float) -> float:
    """(m + p - 1) (fixed + work / m): a step of GPipe or 1F1B with equal stages, messages aside."""
    return (m + p - 1) * (fixed + work / m)


def least_seconds(p: int, fixed: float, work: float) -> float:
    """step_seconds at best_count."""
    return (sqrt(work) + sqrt((p - 1) * fixed)) ** 2
