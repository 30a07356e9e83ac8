"""Sparse codecs: send some elements whole, and the rest not at all.

Papers    Strom, "Scalable Distributed DNN Training Using Commodity GPU Cloud Computing" (2015): threshold, +-tau.
          Aji and Heafield, "Sparse Communication for Distributed Gradient Descent" (2017): the largest.
          Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory" (2018): top-k and random-k as contractions.
          Wangni et al., "Gradient Sparsification for Communication-Efficient Distributed Optimization" (2018):
          probabilities in proportion to the magnitude, g_i / P_i.
Wire      k float32 values, then k indices of b = ceil(log2 d) bits: k (32 + b) bits. Not k values of d, a fraction k/d:
          with int32 indices it would be 2 k/d. Sorting the indices and sending the gaps would need fewer still.
Left out  How such vectors are summed over ranks (reduce.py): other ranks keep other elements.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, pack, packed_bytes, unpack, width
from .codec import Codec, codec

Count = int | float  # an int: so many elements; a float: this share of the d elements


def count(k: Count, d: int) -> int:
    """How many of d elements `k` means: at least 1, at most d."""
    return max(1, min(d, round(k * d) if isinstance(k, float) else k))


def sparse_bytes(k: int, d: int) -> int:
    """Bytes of k values and their indices."""
    return 4 * k + packed_bytes(k, width(d))


def to_wire(values: Tensor, indices: Tensor, d: int) -> Tensor:
    """The wire of k float32 values [k] at `indices` [k] of a vector of d elements."""
    return torch.cat([float_bytes(values), pack(indices, width(d))])


def from_wire(wire: Tensor, d: int) -> tuple[Tensor, Tensor]:
    """(values [k] float32, indices [k] int64) of such a wire. Its length tells k."""
    k = 8 * len(wire) // (32 + width(d))
    return floats(wire[: 4 * k]), unpack(wire[4 * k :], width(d), k)


def scatter(wire: Tensor, d: int) -> Tensor:
    """The vector [d] float32 of such a wire: zero where nothing was sent."""
    values, indices = from_wire(wire, d)
    return values.new_zeros(d).index_put_((indices,), values)


# Which elements ------------------------------------------------------------------------------------------------------


def largest(x: Tensor, k: int) -> Tensor:
    """Indices [k], ascending, of the k elements of x [d] that are largest in magnitude. Of equals, any: k in all."""
    return x.abs().topk(k, sorted=False).indices.sort().values


def drawn(d: int, k: int, generator: Generator) -> Tensor:
    """k of d indices, every set of k equally likely."""
    return torch.randperm(d, generator=generator, device=generator.device)[:k]


def probabilities(weights: Tensor, k: int, floor: float = 0.0) -> Tensor:
    """P_i = min(1, k q_i), where q [d] are the weights, scaled to sum to 1 and mixed with a share `floor` of 1/d each.

    The expected number of elements sent is at most k. A floor above 0 keeps 1 / P_i bounded where a weight is 0.
    """
    d, total = len(weights), weights.sum()
    q = weights / total if total > 0 else torch.full_like(weights, 1 / d)
    return (k * ((1 - floor) * q + floor / d)).clamp(max=1)


# Codecs --------------------------------------------------------------------------------------------------------------


def top_k(k: Count) -> Codec:
    """The k elements that are largest in magnitude. Biased; delta = k / d: what it drops is at most their average."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = largest(x, count(k, len(x)))
        return to_wire(x[indices], indices, len(x))

    return codec(
        f"top-k {k}",
        encode,
        scatter,
        lambda d: sparse_bytes(count(k, d), d),
        contraction=lambda d: count(k, d) / d,
    )


def random_k(k: Count, shared_seed: bool = False) -> Codec:
    """k elements drawn at random, times d / k: unbiased, with variance (d/k - 1) x_i^2, so omega = d/k - 1.

    shared_seed: the wire holds the seed (8 bytes) from which the receiver draws the same indices, and no indices.
    Ranks with equal generators then choose the same elements, so that their values can be summed by a plain all-reduce.
    """

    def encode(x: Tensor, generator: Generator) -> Tensor:
        d, kept = len(x), count(k, len(x))
        if not shared_seed:
            indices = drawn(d, kept, generator)
            return to_wire(x[indices] * (d / kept), indices, d)
        seed = torch.randint(2**62, (1,), generator=generator, device=generator.device)
        return torch.cat([seed.view(torch.uint8), float_bytes(x[indices_of(seed, d)] * (d / kept))])

    def indices_of(seed: Tensor, d: int) -> Tensor:
        return drawn(d, count(k, d), Generator(seed.device).manual_seed(int(seed)))

    def decode_seed(wire: Tensor, d: int) -> Tensor:
        values = floats(wire[8:])
        return values.new_zeros(d).index_put_((indices_of(wire[:8].clone().view(torch.int64), d),), values)

    return codec(
        f"random-k {k}{' by seed' if shared_seed else ''}",
        encode,
        decode_seed if shared_seed else scatter,
        lambda d: 8 + 4 * count(k, d) if shared_seed else sparse_bytes(count(k, d), d),
        unbiased=True,
        variance=lambda x: (len(x) / count(k, len(x)) - 1) * x**2,
        contraction=lambda d: 2 - d / count(k, d),
    )


def threshold(tau: float) -> Codec:
    """Every element of more than tau in magnitude, whole. How many that are, nobody knows before; maybe none."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = (x.abs() > tau).nonzero().view(-1)
        return to_wire(x[indices], indices, len(x))

    return codec(f"threshold {tau}", encode, scatter, lambda d: None, contraction=lambda d: 0.0)


def strom(tau: float) -> Codec:
    """+tau or -tau for every element of more than tau in magnitude: an index and a sign bit each (Strom 2015).

    With error feedback what is left of an element is sent later, at most tau a step: tau must not be too small either.
    Strom packs index and sign into 32 bits; here they take b + 1, after a count of 4 bytes.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = (x.abs() > tau).nonzero().view(-1)
        number = torch.tensor([len(indices)], dtype=torch.int32, device=x.device).view(torch.uint8)
        return torch.cat([number, signed_indices(x, indices)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return scatter_signs(wire[4:], int(wire[:4].clone().view(torch.int32)), d) * tau

    return codec(f"strom {tau}", encode, decode, lambda d: None, contraction=lambda d: 0.0)


def sparse_sign(k: Count) -> Codec:
    """The signs of the k largest elements and the mean of their magnitudes: 4 bytes and k (b + 1) bits. delta = 1 / d.

    With the mean m of the kept, ||C(x) - x||^2 = ||x||^2 - k m^2. With ||x||_2 in its place, as is sometimes written,
    ||C(x)|| = sqrt(k) ||x||, which no error feedback can repair.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = largest(x, count(k, len(x)))
        return torch.cat([float_bytes(x[indices].abs().mean()), signed_indices(x, indices)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return scatter_signs(wire[4:], count(k, d), d) * floats(wire[:4])

    return codec(
        f"sparse sign {k}",
        encode,
        decode,
        lambda d: 4 + packed_bytes(count(k, d), width(d) + 1),
        contraction=lambda d: 1 / d,
    )


def importance_sampling(k: Count, weights: Tensor | None = None, floor: float = 0.1) -> Codec:
    """Element i with probability P_i = min(1, k |x_i| / ||x||_1), as x_i / P_i: unbiased, and about k are sent.

    Sent as x_i, without the division, they would not be unbiased. weights [d]: what is to stand for |x| in P_i, such as
    an average of earlier gradients (`history`); a share `floor` of the probability is then spread evenly, because an
    element with P_i = 0 would never be heard of again. The receiver need not know P. Variance x_i^2 (1 / P_i - 1).
    """

    def P(x: Tensor) -> Tensor:
        kept = count(k, len(x))
        return probabilities(x.abs(), kept) if weights is None else probabilities(weights, kept, floor)

    def encode(x: Tensor, generator: Generator) -> Tensor:
        p = P(x)
        indices = (torch.rand(len(x), generator=generator, device=x.device) < p).nonzero().view(-1)
        return to_wire(x[indices] / p[indices], indices, len(x))

    def omega(d: int) -> float:
        return d / count(k, d) / (1.0 if weights is None else floor)

    return codec(
        f"importance {k}" + ("" if weights is None else " by history"),
        encode,
        scatter,
        lambda d: None,
        unbiased=True,
        variance=lambda x: torch.where(x == 0, 0, x**2 * (1 / P(x) - 1)),
        contraction=lambda d: 1 - omega(d),
    )


def history(weights: Tensor, x: Tensor, decay: float = 0.9) -> Tensor:
    """The running average of |x|: decay * weights + (1 - decay) * |x|, for `importance_sampling` in the next step."""
    return torch.lerp(x.abs(), weights, decay)


# Signs at indices ----------------------------------------------------------------------------------------------------


def signed_indices(x: Tensor, indices: Tensor) -> Tensor:
    """The bytes of each index and, in the lowest bit, whether x is negative there."""
    return pack(indices << 1 | (x[indices] < 0).long(), width(len(x)) + 1)


def scatter_signs(wire: Tensor, k: int, d: int) -> Tensor:
    """The vector [d] float32 with +1 or -1 at those k indices, and 0 elsewhere."""
    numbers = unpack(wire, width(d) + 1, k)
    signs = 1.0 - 2.0 * (numbers & 1).float()
    return signs.new_zeros(d).index_put_((numbers >> 1,), signs)
