"""Sparse codecs: send some elements whole, and the rest not at all.

Papers    Strom, "Scalable Distributed DNN Training Using Commodity GPU Cloud Computing" (2015): threshold, +-tau.
          Aji and Heafield, "Sparse Communication for Distributed Gradient Descent" (2017): the largest.
          Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory" (2018): top-k and random-k as contractions.
Wire      k float32 values, then k indices of b = ceil(log2 d) bits, which tells k: k (32 + b) bits. That is not k/d of
          the 32 d bits of x; with int32 indices it would be 2 k/d.
Left out  How such vectors are summed over ranks (reduce.py): other ranks keep other elements. Probabilities that
          differ from element to element: importance.py.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, number, number_bytes, pack, packed_bytes, unpack, width
from .codec import Codec, codec

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
    """The k elements that are largest in magnitude. Biased; delta = k / d: what it drops is at most their average."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = largest(x, kept_count(k, len(x)))
        return to_wire(x[indices], indices, len(x))

    return codec(
        f"top-k {k}",
        encode,
        densify,
        lambda d: sparse_bytes(kept_count(k, d), d),
        contraction=lambda d: kept_count(k, d) / d,
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


def threshold(tau: float) -> Codec:
    """Every element of more than tau in magnitude, whole. Nobody knows before how many that are; maybe none.

    It is top-k only if tau is the k-th largest magnitude of this very vector. delta = 0, but with error feedback no
    element of the error ever exceeds tau.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = (x.abs() > tau).nonzero().view(-1)
        return to_wire(x[indices], indices, len(x))

    return codec(f"threshold {tau}", encode, densify, lambda d: None, contraction=lambda d: 0.0)


def strom(tau: float) -> Codec:
    """+tau or -tau for every element of more than tau in magnitude: an index and a sign bit each (Strom 2015).

    With error feedback the rest of an element is sent later, at most tau a step: an element whose gradient stays above
    tau falls further and further behind. Strom packs index and sign into 32 bits; here they take b + 1, after a count.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = (x.abs() > tau).nonzero().view(-1)
        return torch.cat([number_bytes(len(indices), x.device), signed_indices(x, indices)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return scatter_signs(wire[4:], number(wire), d) * tau

    return codec(f"strom {tau}", encode, decode, lambda d: None, contraction=lambda d: 0.0)


def sparse_sign(k: Count) -> Codec:
    """The signs of the k largest elements and the mean of their magnitudes: 4 bytes and k (b + 1) bits. delta = 1 / d.

    With the mean m of the kept, ||C(x) - x||^2 = ||x||^2 - k m^2. With ||x||_2 in its place, as is sometimes written,
    ||C(x)|| = sqrt(k) ||x||, which no error feedback can repair.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        indices = largest(x, kept_count(k, len(x)))
        return torch.cat([float_bytes(x[indices].abs().mean()), signed_indices(x, indices)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return scatter_signs(wire[4:], kept_count(k, d), d) * floats(wire[:4])

    return codec(
        f"sparse sign {k}",
        encode,
        decode,
        lambda d: 4 + packed_bytes(kept_count(k, d), width(d) + 1),
        contraction=lambda d: 1 / d,
    )


# Signs at indices ----------------------------------------------------------------------------------------------------


def signed_indices(x: Tensor, indices: Tensor) -> Tensor:
    """The bytes of each index and, in the lowest bit, whether x is negative there."""
    return pack(indices << 1 | (x[indices] < 0).long(), width(len(x)) + 1)


def scatter_signs(wire: Tensor, k: int, d: int) -> Tensor:
    """The vector [d] float32 with +1 or -1 at those k indices, and 0 elsewhere."""
    numbers = unpack(wire, width(d) + 1, k)
    signs = 1.0 - 2.0 * (numbers & 1).float()
    return signs.new_zeros(d).index_put_((numbers >> 1,), signs)
