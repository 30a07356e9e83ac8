"""The gradient noise scale: up to which batch size more samples a step save steps.

Idea      The mean gradient of B samples is G + noise: E |g_B|^2 = |G|^2 + tr(Sigma) / B, where Sigma is the covariance
          of the gradients of single samples. While noise is most of it, twice the batch is worth twice the step; when
          it is little of it, twice the batch tells nothing new. Both are equal at B_noise = tr(Sigma) / |G|^2.
          A model: steps S = S_min (1 + B_noise / B), samples S B = E_min (1 + B / B_noise): twice the least of each at
          B_noise. Exact for one step where curvature is alike in all directions; elsewhere an order of magnitude
          (tests/claims/test_02_data_parallel.py: at small batches it says more than twice the steps that are taken).
          Data parallelism knows the gradients of two batch sizes anyway: the ranks' own ones and their average. So
          there are two equations for |G|^2 and tr(Sigma), which have unbiased solutions. Four more numbers to add up.
Price     Each of the two is noisy, and their quotient is biased: average both over many steps, then divide.
Exact     B_noise changes during training, mostly upwards, and says nothing of the learning rate that each batch size
          needs. From N samples that are drawn without replacement the estimate is too large: it finds |G|^2 - tr(Sigma)
          / (N - 1) in place of |G|^2 on average, whatever the sizes of the batches.
Source    McCandlish, Kaplan, Amodei et al., "An Empirical Model of Large-Batch Training" (2018).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from .. import mpi


class Noise(NamedTuple):
    """Estimates of |G|^2 and of tr(Sigma), the variance of the gradient of one sample; both may be below 0."""

    signal: float
    variance: float

    @property
    def scale(self) -> float:
        """B_noise, in samples."""
        return self.variance / self.signal


def square(gradients: Iterable[Tensor]) -> float:
    """|g|^2 of a gradient that consists of several tensors."""
    return float(sum(g.double().square().sum() for g in gradients))


def from_two_sizes(square_b: float, b: float, square_B: float, B: float) -> Noise:
    """From |g|^2 of the mean gradients over batches of b and of B samples, b < B (McCandlish et al., appendix A.1)."""
    return Noise((B * square_B - b * square_b) / (B - b), (square_b - square_B) / (1 / b - 1 / B))


def from_ranks(comm, own_square: float, count: int, average_square: float) -> Noise:
    """From the ranks' own gradients, and the average of all; the same on every rank. One all-reduce of 32 bytes.

    own_square: |g_r|^2 of the MEAN gradient over this rank's `count` samples (with 0 samples it is not used);
    average_square: that over all samples. With unequal counts 1 / b is the mean of the ranks' 1 / n_r.
    Raises ValueError on every rank if there is but one rank with samples: that is one batch size, not two.
    """
    known = [1.0, own_square, 1 / count, count] if count else [0.0] * 4
    sums = torch.tensor(known, dtype=torch.float64)
    comm.Allreduce(mpi.IN_PLACE, sums)
    ranks, squares, inverses, B = sums.tolist()
    if ranks < 2:
        raise ValueError("the noise scale is found from two batch sizes, which takes 2 or more ranks that have samples")
    return from_two_sizes(squares / ranks, ranks / inverses, average_square, B)


def mean(estimates: Iterable[Noise]) -> Noise:
    """The mean of both numbers over several steps: take the scale of that, not the mean of the scales."""
    signals, variances = zip(*estimates)
    return Noise(sum(signals) / len(signals), sum(variances) / len(variances))


# What it is good for --------------------------------------------------------------------------------------------------


def steps_to_target(B: float, scale: float) -> float:
    """Steps to a target with batches of B, in units of the least there are: 1 + B_noise / B."""
    return 1 + scale / B


def samples(B: float, scale: float) -> float:
    """Samples to a target with batches of B, in units of the least there are: 1 + B / B_noise."""
    return 1 + B / scale
