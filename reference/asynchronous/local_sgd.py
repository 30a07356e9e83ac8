"""Local SGD: H steps on one's own, then an average of the weights.

Idea      Averaging the weights after each step is synchronous SGD (not so for Adam: its step is not linear in g).
          Averaging them after H steps is nearly as good, if the ranks' data are alike, and sends a H-th of the bytes.
          How often is data: a list of phase lengths. [1] * N is synchronous SGD, periodic(N, H) is [H, H, ...].
          Post-local SGD begins with `synchronous` steps of ordinary synchronous SGD, while the weights still move far.
          Averaging speaks of the weights only; what becomes of each rank's momentum must be said. `buffers`:
            keep      each keeps its own; no bytes. For H = 1 that is synchronous SGD with momentum, since all is linear
                      (and the ranks count alike)
            reset     begin each phase at rest; for H = 1 that throws momentum away altogether
            average   average them, too: twice the bytes
          An outer optimizer says what is done with the average. With theta the weights before the phase, p = (theta -
          average) / eta is a gradient in all but name (it points uphill), and it takes a step down:
            u <- beta u + p;  theta <- theta - alpha eta u          or p + beta u instead of u: Nesterov
          alpha = 1, beta = 0 is the plain average; this is SlowMo. For a constant eta it is also BMUF, with block
          momentum beta and block learning rate alpha; its Nesterov form over many steps of AdamW is DiLoCo.
          The sign matters: the other one walks uphill, and diverges on x^2 / 2.
          A rank counts as much as the samples it has seen in the phase (none: not at all).
Sends     One all-reduce of n bytes and a count a phase: 2 (P - 1) / P n per rank and H steps, not per step.
Price     Within a phase the ranks drift apart. If their data differ, each drifts to its own minimum. Where curvatures
          differ, too, the average of minima is not the minimum of the average, and H > 1 converges to another point
          (at a constant rate).
          "The same rate of convergence" is proved for data that are alike, and H that is bounded.
Left out  Adam's second moment. Averaging within nodes more often than between them: two_level.py.
Source    Stich, "Local SGD Converges Fast and Communicates Little" (2019). Post-local: Lin, Stich, Patel and Jaggi,
          "Don't Use Large Mini-Batches, Use Local SGD" (2020). Wang, Tantia, Ballas and Rabbat, "SlowMo: Improving
          Communication-Efficient Distributed SGD with Slow Momentum" (2020). Chen and Huo, "Scalable Training of Deep
          Learning Machines by Incremental Block Training ..." (2016): BMUF. Douillard et al., "DiLoCo: Distributed
          Low-Communication Training of Language Models" (2023). Wang and Joshi, "Adaptive Communication Strategies to
          Achieve the Best Error-Runtime Trade-off in Local-Update SGD" (2019): adaptive periods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from ..agreement import agree
from ..collectives import allreduce
from .arguments import trouble

BUFFERS = ("keep", "reset", "average")


def periodic(steps: int, period: int) -> list[int]:
    """Phases of `period` steps, `steps` in all; the last one may be shorter. Raises ValueError unless period >= 1."""
    if period < 1:
        raise ValueError(f"a phase has at least 1 step, got {period=}")
    whole, rest = divmod(max(steps, 0), period)
    return [period] * whole + [rest] * (rest > 0)


def adaptive_period(loss: float, first_loss: float, first_period: int) -> int:
    """A shorter phase as the loss falls: drift that does not matter in the beginning does in the end (AdaComm)."""
    return max(1, ceil(sqrt(loss / first_loss) * first_period))


class Outer(NamedTuple):
    """The outer optimizer: alpha (rate), beta (momentum), and its Nesterov form."""

    rate: float = 1.0
    momentum: float = 0.0
    nesterov: bool = False

    def step(self, theta: Tensor, average: Tensor, u: Tensor, eta: float) -> Tensor:
        """The next weights [d]; u [d], the slow momentum, is changed in place."""
        if self == AVERAGE:
            return average  # what the formula says but for rounding
        p = (theta - average) / eta
        u.mul_(self.momentum).add_(p)
        return theta - self.rate * eta * (p + self.momentum * u if self.nesterov else u)


AVERAGE = Outer()
"""The average itself."""

SLOWMO = Outer(rate=1.0, momentum=0.5)
"""Slow momentum."""

DILOCO = Outer(rate=0.7, momentum=0.9, nesterov=True)
"""The outer optimizer of DiLoCo."""


def train_local_sgd(
    comm,
    objective,
    phases: Sequence[int],
    rate: float,
    momentum: float = 0.0,
    buffers: str = "keep",
    outer: Outer = AVERAGE,
    synchronous: int = 0,
    watch: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Minimise the objective: in each phase so many SGD steps on this rank's shares of the batches, then an average.

    momentum, buffers   of the inner steps: v <- momentum v + g; w <- w - rate v
    synchronous         before the phases so many steps, each with the mean gradient of all ranks
    watch               called with the weights whenever they are the same on all ranks

    Returns the weights w [d], the same bits on all ranks. Raises ValueError on every rank for impossible arguments,
    also if the ranks' phases differ.
    """
    phases = list(phases)
    alike = [f"{phases=}", f"{rate=}", f"{momentum=}", f"{buffers=}", f"{outer=}", f"{synchronous=}"]
    agree(comm, "the arguments", alike, _refused(phases, rate, buffers, synchronous))
    w, watch = objective.start(), watch or (lambda w: None)
    v, u = torch.zeros_like(w), torch.zeros_like(w)
    for step in range(synchronous):
        g, count = objective.gradient(w, step, comm.rank, comm.size)
        (mean,) = weighted_mean(comm, [g / max(count, 1)], count)
        descend(w, v, mean, rate, momentum)
        watch(w)
    first = synchronous
    for length in phases:
        theta, samples = w.clone(), 0
        for step in range(first, first + length):
            g, count = objective.gradient(w, step, comm.rank, comm.size)
            if count:
                descend(w, v, g / count, rate, momentum)
            samples += count
        first += length
        means = weighted_mean(comm, [w, v] if buffers == "average" else [w], samples)
        w = outer.step(theta, means[0], u, rate)
        if buffers == "average":
            v = means[1]
        elif buffers == "reset":
            v.zero_()
        watch(w)
    return w


def descend(w: Tensor, v: Tensor, g: Tensor, rate: float, momentum: float) -> None:
    """One step of SGD with momentum, in place: w and v [d]."""
    v.mul_(momentum).add_(g)
    w.sub_(v, alpha=rate)


def weighted_mean(comm, vectors: list[Tensor], weight: int) -> list[Tensor]:
    """The mean over the ranks of each vector [d], each rank counting `weight` times: one all-reduce."""
    joined = torch.cat([*vectors, vectors[0].new_ones(1)]) * weight
    allreduce(comm, joined, algorithm="ring")
    return list((joined[:-1] / joined[-1]).chunk(len(vectors)))


def _refused(phases: list[int], rate: float, buffers: str, synchronous: int) -> str:
    if buffers not in BUFFERS or min(phases, default=1) < 1:
        return f"phases have 1 step or more, and buffers is one of {BUFFERS}, got {phases} and {buffers!r}"
    return trouble(synchronous, rate)
