"""Sparse codecs: some elements are sent whole, the rest not at all.

Idea      Most elements of a gradient are small. Send k of d, and say which: the largest, random ones, or all above a
          threshold.
Sends     k float32 values, then k indices of b = ceil(log2 d) bits, which tells k: k (32 + b) bits. That is not k/d of
          the 32 d bits of x; with int32 indices it would be 2 k/d.
Left out  How such vectors are summed over ranks, which keep different elements (reduce.py). Signs in place of values:
          sparse_signs.py. Probabilities that differ from element to element: importance.py.
Source    Aji and Heafield, "Sparse Communication for Distributed Gradient Descent" (2017): the largest. Stich,
          Cordonnier and Jaggi, "Sparsified SGD with Memory" (2018): top-k and random-k as contractions.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, pack, packed_bytes, unpack, width
from .codec import Codec, CodecRecord, codec

Count = int | float  # an int: so many elements; a float: this share of the d elements


def kept_count(k: Count, d: int) -> int:
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


def densify(wire: Tensor, d: int) -> Tensor:
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


# Codecs --------------------------------------------------------------------------------------------------------------


def top_k(k: Count) -> Codec:
    """The k elements of largest magnitude. Biased; delta = k / d: they hold this share of all squares or more."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = largest(x, kept_count(k, len(x)))
        return to_wire(x[indices], indices, len(x))

    return codec(
        f"top-k {k}",
        encode,
        densify,
        lambda d: sparse_bytes(kept_count(k, d), d),
        unbiased=False,
        variance=None,
        contraction=lambda d: kept_count(k, d) / d,
    )


TOP_K = CodecRecord(
    name="top-k",
    make=top_k,
    idea="the k elements that are largest in magnitude, whole",
    source="Aji and Heafield (2017), Stich et al. (2018)",
    wire="4 k + ceil(k b / 8)",
    variants=({"k": 0.01},),
    linear=False,
    feedback=True,
    two_ways=False,
)


def random_k(k: Count) -> Codec:
    """k elements drawn at random, times d / k: unbiased, with variance (d/k - 1) x_i^2, so omega = d/k - 1."""

    def encode(x: Tensor, generator: Generator) -> Tensor:
        indices = drawn(len(x), kept_count(k, len(x)), generator)
        return to_wire(x[indices] * (len(x) / len(indices)), indices, len(x))

    return codec(
        f"random-k {k}",
        encode,
        densify,
        lambda d: sparse_bytes(kept_count(k, d), d),
        unbiased=True,
        variance=lambda x: (len(x) / kept_count(k, len(x)) - 1) * x**2,
        contraction=lambda d: 2 - d / kept_count(k, d),
    )


RANDOM_K = CodecRecord(
    name="random-k",
    make=random_k,
    idea="k elements drawn at random, times d / k",
    source="Stich et al. (2018)",
    wire="4 k + ceil(k b / 8)",
    variants=({"k": 0.01},),
    linear=True,
    feedback=False,
    two_ways=False,
)


def seeded_random_k(k: Count) -> Codec:
    """random_k without indices: the wire holds a seed of 8 bytes, from which the receiver draws the same ones.

    Ranks whose generators agree draw the same elements, so their values could be summed by a plain all-reduce.
    """

    def indices_of(seed: Tensor, d: int) -> Tensor:
        return drawn(d, kept_count(k, d), Generator(seed.device).manual_seed(int(seed)))

    def encode(x: Tensor, generator: Generator) -> Tensor:
        seed = torch.randint(2**62, (1,), generator=generator, device=generator.device)
        values = x[indices_of(seed, len(x))] * (len(x) / kept_count(k, len(x)))
        return torch.cat([seed.view(torch.uint8), float_bytes(values)])

    def decode(wire: Tensor, d: int) -> Tensor:
        values = floats(wire[8:])
        return values.new_zeros(d).index_put_((indices_of(wire[:8].clone().view(torch.int64), d),), values)

    return codec(
        f"seeded random-k {k}",
        encode,
        decode,
        lambda d: 8 + 4 * kept_count(k, d),
        unbiased=True,
        variance=random_k(k).variance,
        contraction=random_k(k).contraction,
    )


SEEDED_RANDOM_K = CodecRecord(
    name="seeded random-k",
    make=seeded_random_k,
    idea="random-k with a seed in place of the indices",
    source="",
    wire="8 + 4 k",
    variants=({"k": 0.01},),
    linear=True,
    feedback=False,
    two_ways=False,
)


def threshold(tau: float) -> Codec:
    """Every element of more than tau in magnitude, whole. Nobody knows before how many that are; maybe none.

    It is top-k only if tau is the k-th largest magnitude of this very vector. delta = 0, but with error feedback no
    element of the error ever exceeds tau.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = (x.abs() > tau).nonzero().view(-1)
        return to_wire(x[indices], indices, len(x))

    return codec(
        f"threshold {tau}",
        encode,
        densify,
        lambda d: None,
        unbiased=False,
        variance=None,
        contraction=lambda d: 0.0,
    )


THRESHOLD = CodecRecord(
    name="threshold",
    make=threshold,
    idea="every element of more than tau in magnitude, whole",
    source="Aji and Heafield (2017)",
    wire="4 k + ceil(k b / 8)",
    variants=({"tau": 2.0},),
    linear=False,
    feedback=True,
    two_ways=False,
)
