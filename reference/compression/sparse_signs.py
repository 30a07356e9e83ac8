"""Sparse signs: of some elements the index and the sign, and one magnitude for all of them.

Idea      After error feedback the elements that are worth sending are about equally large, so one number may stand for
          all: a threshold that both sides know, or the mean of what is sent.
Sends     k indices of b = ceil(log2 d) bits and a bit for each sign: k (b + 1) bits, and 4 bytes for k or the mean.
Source    Strom, "Scalable Distributed DNN Training Using Commodity GPU Cloud Computing" (2015): threshold, +-tau.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, number, number_bytes, pack, packed_bytes, unpack, width
from .codec import Codec, CodecRecord, codec
from .sparse import Count, kept_count, largest


def signed_indices(x: Tensor, indices: Tensor) -> Tensor:
    """The bytes of each index and, in the lowest bit, whether x is negative there."""
    return pack(indices << 1 | (x[indices] < 0).long(), width(len(x)) + 1)


def scatter_signs(wire: Tensor, k: int, d: int) -> Tensor:
    """The vector [d] float32 with +1 or -1 at those k indices, and 0 elsewhere."""
    numbers = unpack(wire, width(d) + 1, k)
    signs = 1.0 - 2.0 * (numbers & 1).float()
    return signs.new_zeros(d).index_put_((numbers >> 1,), signs)


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

    return codec(
        f"strom {tau}",
        encode,
        decode,
        lambda d: None,
        unbiased=False,
        variance=None,
        contraction=lambda d: 0.0,
    )


STROM = CodecRecord(
    name="strom",
    make=strom,
    idea="+tau or -tau for every element of more than tau in magnitude",
    source="Strom (2015)",
    wire="4 + ceil(k (b + 1) / 8)",
    variants=({"tau": 2.0},),
    linear=False,
    feedback=True,
    two_ways=False,
)


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
        unbiased=False,
        variance=None,
        contraction=lambda d: 1 / d,
    )


SPARSE_SIGN = CodecRecord(
    name="sparse sign",
    make=sparse_sign,
    idea="the signs of the k largest elements, and the mean of their magnitudes",
    source="",
    wire="4 + ceil(k (b + 1) / 8)",
    variants=({"k": 0.01},),
    linear=False,
    feedback=True,
    two_ways=False,
)
