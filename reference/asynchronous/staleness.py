"""Late gradients: what a delay does to gradient descent, and two remedies that are often confused.

Idea      The delay is tau, the updates that the weights have had between the moment at which a worker read them and the
          moment at which its gradient arrives.
          Damping takes g / (1 + tau) (Zhang et al.: g / tau): a late gradient is trusted less. Its direction stays the
          wrong one.
          Compensation takes g + lambda g g (w_now - w_read), elementwise: an estimate of the gradient where the weights
          are now. It is the first term of Taylor's series with the Hessian replaced by lambda g g, which stands for the
          diagonal of the Fisher information. That is right, on average, for the gradients of single samples of a
          log-likelihood whose labels are drawn from the model; of a quadratic it is not. The diagonal is
          nearly all of that matrix if features are independent with a mean of zero and labels are far from certain.
          Another mean, or correlation, leaves most of the error, or adds to it. The server keeps a copy of the weights
          per worker.
Price     w <- w - eta a w_(t - tau) is stable if and only if eta a < 2 sin(pi / (2 (2 tau + 1))): 2 without a delay, 1
          for tau = 1, about pi / (2 tau) for a long one: twice a long delay allows half the learning rate.
          P workers whose times are exponentially distributed see delays that are geometrically distributed. Then the
          expected weights move as under momentum 1 - 1/P with learning rate eta / P, after a first step of eta (all
          have read the same weights): take momentum away where you add asynchrony. Other times, other paths: with
          uniform ones, delays scatter less, and unless the rate is small w swings further.
Left out  DC-ASGD-a, which adapts lambda to a moving mean of g g.
Source    Zhang, Gupta, Lian and Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (2016): damping. Zheng
          et al., "Asynchronous Stochastic Gradient Descent with Delay Compensation" (2017): DC-ASGD. Mitliagkas et al.,
          "Asynchrony Begets Momentum, with an Application to Deep Learning" (2016). Levin and May, "A Note on
          Difference-Delay Equations" (1976): the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sin
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor


class Correction(NamedTuple):
    """What a server makes of a late gradient.

    apply(g [d], delay, moved [d]) is the gradient to use; moved = w_now - w_read, None unless `remembers` is set, for
    then the server must keep what each worker has read.
    """

    apply: Callable[[Tensor, int, Any], Tensor]
    remembers: bool = False


PLAIN = Correction(lambda g, delay, moved: g)
"""Take it as it is."""

DAMPED = Correction(lambda g, delay, moved: g / (1 + delay))
"""Staleness-aware damping: the later, the shorter."""


def compensated(strength: float) -> Correction:
    """Delay compensation (DC-ASGD) with lambda = strength. Raises ValueError if that is negative."""
    if strength < 0:
        raise ValueError(f"the strength of the compensation must be >= 0, got {strength}")
    return Correction(lambda g, delay, moved: g + strength * g * g * moved, remembers=True)


# What a delay does, on f(w) = a w^2 / 2 ------------------------------------------------------------------------------


def largest_rate(curvature: float, delay: int) -> float:
    """The learning rate below which descent with this constant delay is stable."""
    return 2 * sin(pi / (2 * (2 * delay + 1))) / curvature


def delayed_descent(curvature: float, rate: float, delay: int, steps: int) -> np.ndarray:
    """w after 0, 1, ..., steps updates, each with the gradient at the weights `delay` updates ago; from w = 1."""
    w = [1.0]
    for t in range(steps):
        w.append(w[-1] - rate * curvature * w[max(t - delay, 0)])
    return np.array(w)


def effective_momentum(workers: int) -> float:
    """The momentum that asynchrony adds by itself when all workers' times are exponentially distributed alike."""
    return 1 - 1 / workers


def asynchronous_descent(
    curvature: float, rate: float, workers: int, steps: int, runs: int = 1000, seed: int = 0
) -> np.ndarray:
    """w [runs, steps + 1] of asynchronous runs whose workers take exponentially distributed times; from w = 1.

    Such times have no memory: who finishes next is any worker with equal probability.
    """
    random, run = np.random.default_rng(seed), np.arange(runs)
    read = np.ones((runs, workers))  # the weights that each worker is busy with
    w = [np.ones(runs)]
    for _ in range(steps):
        next_one = random.integers(workers, size=runs)
        w.append(w[-1] - rate * curvature * read[run, next_one])
        read[run, next_one] = w[-1]
    return np.stack(w, axis=1)
