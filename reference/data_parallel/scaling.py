"""Scaling: how far data parallelism carries; the limits of the network and of the batch, neither a number of cards.

Idea      With b samples a rank, more ranks do more samples a step (weak scaling). Two things set a limit.
Price     The network. The gradients weigh the same however many ranks there are, and the backward pass that can hide
          them lasts as long as b samples take. Fewer samples a rank than that, and every step is longer. What grows
          with P is the latency: with P in a ring, with log P in a tree or by halving and doubling. With a ring
          that decides at 100,000 ranks.
          The samples. The batch b P grows, and beyond the noise scale (noise_scale.py) more samples a step save at
          most half of the steps, in all:

              time to target = S_min (1 + B_noise / (b P)) T(P)

          All that are added then, at full efficiency, save no more than that.
          Beyond the limit use ranks for something else: larger models, tensor or pipeline parallelism.
Left out  Stragglers (stragglers.py), which can cost more than the network; failures; links that many nodes share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..collectives.hierarchical import hierarchical_allreduce_cost
from ..networks import Link
from . import noise_scale
from .layers import Layer
from .step_time import step_of


def on_nodes(
    ranks_per_node: int,
    inside: Link,
    outside: Link,
    across: str = "halving-doubling",
    itemsize: int = 2,
) -> Callable[[int, int], float]:
    """(P, nbytes) -> seconds of a hierarchical all-reduce where each rank has a network card of its own.

    inside, outside: the links within and between nodes. A closed form, so that P may be 100,000.
    """

    def seconds(P: int, nbytes: int) -> float:
        L, count = min(ranks_per_node, P), -(-nbytes // itemsize)
        return hierarchical_allreduce_cost(P, count, itemsize, inside, L, across, outside).seconds

    return seconds


def step_seconds(
    layers: Sequence[Layer], buckets: Sequence[Sequence[int]], allreduce: Callable[[int, int], float], P: int
) -> float:
    """T(P): seconds of a step on P ranks; layers with the times of one rank's samples, allreduce(P, nbytes)."""
    return step_of(layers, buckets, lambda nbytes: allreduce(P, nbytes)).seconds


def efficiency(
    layers: Sequence[Layer], buckets: Sequence[Sequence[int]], allreduce: Callable[[int, int], float], P: int
) -> float:
    """T(1) / T(P) with as many samples a rank: 1 if all communication is hidden."""
    alone = sum(layer.forward + layer.backward for layer in layers)
    return alone / step_seconds(layers, buckets, allreduce, P)


def time_to_target(P: int, samples: float, scale: float, seconds: float) -> float:
    """Training time in units of the least number of steps, S_min: (1 + B_noise / (b P)) T(P).

    samples: b, of one rank; scale: B_noise, in samples; seconds: T(P).
    """
    return noise_scale.steps_to_target(samples * P, scale) * seconds


def speedup(P: int, samples: float, scale: float, slowdown: float = 1.0) -> float:
    """How much sooner P ranks reach the target than one; less than 1 + B_noise / b, however many they are.

    slowdown: T(P) / T(1), the inverse of the efficiency.
    """
    return time_to_target(1, samples, scale, 1.0) / time_to_target(P, samples, scale, slowdown)
