"""The learning rate of a larger batch: linear for SGD, square root for Adam, and when neither is needed.

Idea      k times the batch makes 1 / k as many steps an epoch, on gradients with 1 / sqrt(k) of the noise. What should
          stay the same over an epoch is how far the weights drift and how far noise throws them about.

                  drift in an epoch              noise in an epoch (variance)        both stay if
          SGD     lr G / k                       lr^2 (1 / k) / k = (lr / k)^2       lr ~ k
          Adam    lr (G sqrt(k) / sigma) / k     lr^2 / k                            lr ~ sqrt(k)

          because Adam divides by the gradient's size, which is mostly noise: sigma / sqrt(k).
After     At the start the weights change fast, and k times the learning rate may be too much for that: begin with that
          of the small batch, and grow.
          If only the number of ranks changes (one is lost, ten are added), keep the global batch: change how many
          micro-batches each rank accumulates, `accumulation`, and learning rate, schedule and result stay as they were.
Exact     It holds while noise is most of the gradient, up to about B_noise (noise_scale.py), and while steps are small.
          It ends for good where k lr reaches 2 / curvature: there gradient descent diverges. A rule promises the same
          run, not a better one; as far as it holds, a larger batch needs no more epochs.
Source    Goyal et al., "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour" (2017), linear rule and gradual
          warm-up; Malladi et al., "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms" (2022), square root.
"""

from __future__ import annotations

from typing import NamedTuple


class Adam(NamedTuple):
    """What scales with the batch in Adam."""

    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8


def linear(lr: float, k: float) -> float:
    """SGD's learning rate for k times the batch: k lr."""
    return k * lr


def square_root(lr: float, k: float) -> float:
    """Adam's learning rate for k times the batch: sqrt(k) lr."""
    return k**0.5 * lr


def scaled_adam(base: Adam, k: float) -> Adam:
    """The whole rule: lr sqrt(k); betas 1 - k (1 - beta), so that averages reach back as many samples; eps / sqrt(k).

    Raises ValueError if a beta would be 0 or less: the average would reach back less than one step.
    """
    first, second = (1 - k * (1 - beta) for beta in base.betas)
    if min(first, second) <= 0:
        raise ValueError(
            f"{k:g} times the batch asks for betas of {first, second}, and they must be above 0: use a smaller batch"
        )
    return Adam(square_root(base.lr, k), (first, second), base.eps / k**0.5)


def warm_up(lr: float, k: float, step: int, steps: int) -> float:
    """Gradual warm-up: from lr in step 0 in a straight line to k lr in step `steps`, and that from there on."""
    return lr * (1 + (k - 1) * min(1.0, step / steps if steps else 1.0))


def accumulation(size: int, ranks: int, most: int) -> int:
    """K, the micro-batches in which each rank can do its share of a global batch of `size`, `most` samples at a time.

    With it the same global batch is possible on any number of ranks. Raises ValueError if most < 1.
    """
    if most < 1:
        raise ValueError(f"a micro-batch of at most {most} samples holds none: give 1 or more")
    largest_share = -(-size // ranks)
    return max(1, -(-largest_share // most))
