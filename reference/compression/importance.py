"""Importance sampling: large elements with a high probability, small ones with a low one, and right on average.

Idea      Element i is sent with probability P_i > 0, as g_i / P_i: on average P_i g_i / P_i = g_i, for any P. Sent
          as g_i it would be P_i g_i: biased, and most where g_i is small. The variance is sum of g_i^2 (1 / P_i - 1).
          For a given expected number sent, the sum of P_i, it is least for P_i = min(1, c |g_i|): set its derivative to
          0, with a Lagrange multiplier. Here c = k / ||g||_1. If |g| itself is not to be looked at, an average of
          earlier |g| may stand for it (`history`). It must not be 0 where g is not, so a share of the probability is
          spread evenly.
Sends     About k elements with their indices, as in sparse.py; nobody knows before how many.
Source    Wangni et al., "Gradient Sparsification for Communication-Efficient Distributed Optimization" (2018).
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .codec import Codec, CodecRecord, codec
from .sparse import Count, densify, kept_count, to_wire


def probabilities(weights: Tensor, k: int, floor: float = 0.0) -> Tensor:
    """P_i = min(1, k q_i), where q [d] are the weights, scaled to sum to 1 and mixed with a share `floor` of 1/d each.

    The expected number of elements sent is at most k. A floor above 0 keeps 1 / P_i bounded where a weight is 0.
    """
    d, total = len(weights), weights.sum()
    q = weights / total if total > 0 else torch.full_like(weights, 1 / d)
    return (k * ((1 - floor) * q + floor / d)).clamp(max=1)


def importance_sampling(k: Count, weights: Tensor | None = None, floor: float = 0.1) -> Codec:
    """Element i with probability P_i = min(1, k |x_i| / ||x||_1), as x_i / P_i: unbiased, and about k are sent.

    Sent as x_i, without the division, they would not be unbiased. The variance is x_i^2 (1 / P_i - 1), and the receiver
    need not know P. weights [d]: what stands for |x| in P, such as an average of earlier gradients (`history`); a share
    `floor` is then spread evenly, because an element with P_i = 0 is not sent, however large it is now.
    """

    def P(x: Tensor) -> Tensor:
        kept = kept_count(k, len(x))
        if weights is not None and len(weights) != len(x):
            raise ValueError(f"{len(weights)} weights for a vector of {len(x)} elements: there must be one for each")
        return probabilities(x.abs(), kept) if weights is None else probabilities(weights, kept, floor)

    def encode(x: Tensor, generator: Generator) -> Tensor:
        p = P(x)
        indices = (torch.rand(len(x), generator=generator, device=x.device) < p).nonzero().view(-1)
        return to_wire(x[indices] / p[indices], indices, len(x))

    def omega(d: int) -> float:
        return d / kept_count(k, d) / (1.0 if weights is None else floor)

    return codec(
        f"importance {k}" + ("" if weights is None else " by history"),
        encode,
        densify,
        lambda d: None,
        unbiased=True,
        variance=lambda x: torch.where(x == 0, 0, x**2 * (1 / P(x) - 1)),
        contraction=lambda d: 1 - omega(d),
    )


IMPORTANCE = CodecRecord(
    name="importance",
    make=importance_sampling,
    idea="element i with a probability P_i that grows with its magnitude, divided by P_i",
    source="Wangni et al. (2018)",
    wire="4 k + ceil(k b / 8)",
    variants=({"k": 0.01},),
    linear=False,
    feedback=False,
    two_ways=False,
)


def history(weights: Tensor, x: Tensor, decay: float = 0.9) -> Tensor:
    """The running average of |x|: decay * weights + (1 - decay) * |x|, for `importance_sampling` in the next step."""
    return torch.lerp(x.abs(), weights, decay)
