"""Quantisers: every element is rounded to one of few levels between -scale and scale, and the scale is sent once.

Idea      Divide by the scale and round to a whole number of few bits. Rounded at random, up with probability frac(y),
          it is right on average: E floor(y) + Bernoulli(frac(y)) = floor(y) + frac(y) = y, for whole y, too. There are
          2 s + 1 levels, scale/s * {-s, ..., 0, ..., s}:

              qsgd                 scale ||x||_2,   rounded at random
              terngrad             scale ||x||_inf, rounded at random, s = 1
              stochastic_rounding  scale ||x||_inf, rounded at random, s = 2^(b-1) - 1
              int8                 scale ||x||_inf, rounded to nearest, s = 127

Sends     m float32 scales, one for each chunk, then d numbers of b bits: 4 m + ceil(d b / 8) bytes.
Price     A scale that serves fewer elements fits them better: the variance grows with their number c, 4 bytes with 1/c.
Source    Alistarh et al., "QSGD" (2017). Wen et al., "TernGrad" (2017). Elias, "Universal Codeword Sets and
          Representations of the Integers" (1975): the code of elias.py.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from . import elias
from .bits import float_bytes, floats, number, number_bytes, pack, packed_bytes, unpack, width
from .codec import Codec, CodecRecord, codec


def stochastic_round(y: Tensor, generator: Generator) -> Tensor:
    """floor(y) + Bernoulli(y - floor(y)): whole numbers with expectation y; whole y stay as they are. Shape as y."""
    low = y.floor()
    return low + (torch.rand(y.shape, generator=generator, device=y.device) < y - low)


def rows(x: Tensor, chunk: int | None) -> Tensor:
    """x [d] as [m, chunk], with zeros after the end; without a chunk size [1, d]."""
    chunk = chunk or len(x)
    return torch.nn.functional.pad(x, (0, -len(x) % chunk)).view(-1, chunk)


def row_count(d: int, chunk: int | None) -> int:
    """m, the number of these rows, and of scales."""
    return -(-d // (chunk or d))


def divide(x: Tensor, scale: Tensor) -> Tensor:
    """x / scale, and 0 where the scale is 0 (all of x is then 0)."""
    return x / scale.where(scale > 0, 1.0)


# On a grid -----------------------------------------------------------------------------------------------------------


def on_grid(x: Tensor, s: int, norm: float, chunk: int | None) -> tuple[Tensor, Tensor]:
    """(scale [m, 1], s x / scale [m, chunk]): the norm of each chunk, and what is to be rounded, from -s to s."""
    parts = rows(x, chunk)
    scale = torch.linalg.vector_norm(parts, norm, dim=1, keepdim=True, dtype=torch.float64)  # float32 lacks (1e20)^2
    scale = scale.to(parts.dtype)
    return scale, divide(s * parts, scale).clamp_(-s, s)  # multiplied first, so that +-scale is exactly +-s


def grid(name: str, s: int, norm: float, chunk: int | None = None, stochastic: bool = True) -> Codec:
    """C(x) = scale/s round(s x / scale), the scale being ||x||_norm of each chunk of x.

    Rounded at random it is unbiased, with the variance (scale/s)^2 f (1 - f) where f is the fraction of s x / scale.
    f (1 - f) is at most 1/4, and at most f, so omega = min(c / (4 s^2), sqrt(c) / s) for chunks of c elements.
    """
    b = width(2 * s + 1)

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        scale, y = on_grid(x, s, norm, chunk)
        level = stochastic_round(y, generator) if stochastic else y.round()
        return torch.cat([float_bytes(scale), pack((level + s).view(-1)[: len(x)].int(), b)])

    def decode(wire: Tensor, d: int) -> Tensor:
        m = row_count(d, chunk)
        level = rows(unpack(wire[4 * m :], b, d).float() - s, chunk)
        return (floats(wire[: 4 * m])[:, None] / s * level).view(-1)[:d]

    def variance(x: Tensor) -> Tensor:
        scale, y = on_grid(x, s, norm, chunk)
        f = y - y.floor()
        return ((scale / s) ** 2 * f * (1 - f)).view(-1)[: len(x)]

    def omega(d: int) -> float:
        c = min(chunk or d, d)
        return min(c / (4 * s**2), math.sqrt(c) / s if stochastic else math.inf)

    return codec(
        name,
        encode,
        decode,
        lambda d: 4 * row_count(d, chunk) + packed_bytes(d, b),
        unbiased=stochastic,
        variance=variance if stochastic else None,
        contraction=lambda d: 1 - omega(d),
    )


def qsgd(s: int, chunk: int | None = None) -> Codec:
    """QSGD with s levels beside 0: the scale is ||x||_2 (Alistarh et al. 2017)."""
    return grid(f"qsgd {s}" + (f" by {chunk}" if chunk else ""), s, 2.0, chunk)


QSGD = CodecRecord(
    name="qsgd",
    make=qsgd,
    idea="whole multiples of the length / s, rounded at random",
    source="Alistarh et al. (2017)",
    wire="4 m + ceil(d ceil(log2(2 s + 1)) / 8)",
    variants=({"s": 1}, {"s": 16, "chunk": 512}),
    linear=False,
    feedback=False,
    two_ways=True,
)


def qsgd_elias(s: int) -> Codec:
    """QSGD with the wire of the paper: gaps between what is not 0, and these levels, in Elias's gamma code.

    With the scale ||x||_2, at most s (s + sqrt(d)) elements are expected not to be 0 (lemma 3.1 of the paper): few, if
    d is large and s is not. The wire: the scale, their number, then gap and level in turn, the sign as the lowest bit.
    """
    plain = qsgd(s)

    def encode(x: Tensor, generator: Generator) -> Tensor:
        scale, y = on_grid(x, s, 2.0, None)
        level = stochastic_round(y, generator).view(-1).long()
        where = level.nonzero().view(-1)
        gap, signed = where.diff(prepend=where.new_tensor([-1])), 2 * level[where].abs() - (level[where] > 0).long()
        head = [float_bytes(scale), number_bytes(len(where), x.device)]
        return torch.cat([*head, elias.encode(torch.stack([gap, signed], 1).view(-1))])

    def decode(wire: Tensor, d: int) -> Tensor:
        gap, signed = elias.decode(wire[8:], 2 * number(wire[4:])).view(-1, 2).unbind(1)
        level = torch.where(signed % 2 == 1, signed + 1, -signed) // 2
        values = floats(wire[:4]) / s * level
        return values.new_zeros(d).index_put_((gap.cumsum(0) - 1,), values)

    return codec(
        f"qsgd {s} elias",
        encode,
        decode,
        lambda d: None,
        unbiased=True,
        variance=plain.variance,
        contraction=plain.contraction,
    )


QSGD_ELIAS = CodecRecord(
    name="qsgd elias",
    make=qsgd_elias,
    idea="qsgd, gaps and levels in as many bits as each needs",
    source="Alistarh et al. (2017), Elias (1975)",
    wire="8 + ceil(u / 8) + ceil(v / 8)",
    variants=({"s": 1},),
    linear=False,
    feedback=False,
    two_ways=False,
)


def terngrad(chunk: int | None = None) -> Codec:
    """max|x| sign(x_i) Bernoulli(|x_i| / max|x|), two bits (Wen et al. 2017, who also clip x; that is left out)."""
    return grid("terngrad", 1, math.inf, chunk)


TERNGRAD = CodecRecord(
    name="terngrad",
    make=terngrad,
    idea="the largest magnitude, its negative or 0, rounded at random",
    source="Wen et al. (2017)",
    wire="4 m + ceil(2 d / 8)",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def stochastic_rounding(bits: int, chunk: int | None = None) -> Codec:
    """Whole numbers of `bits` bits times a step of max|x| / (2^(bits-1) - 1), rounded at random.

    Raises ValueError for fewer than 2 bits, which have no step.
    """
    if bits < 2:
        raise ValueError(f"bits = {bits}: stochastic rounding needs at least 2 bits, one for the sign")
    return grid(f"stochastic rounding {bits}", 2 ** (bits - 1) - 1, math.inf, chunk)


STOCHASTIC_ROUNDING = CodecRecord(
    name="stochastic rounding",
    make=stochastic_rounding,
    idea="whole numbers of a few bits times a step, rounded at random",
    source="",
    wire="4 m + ceil(d bits / 8)",
    variants=({"bits": 4},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def int8(chunk: int | None = 256) -> Codec:
    """INT8 with dynamic range: whole numbers from -127 to 127 times max|x| / 127 of each chunk, rounded to nearest."""
    return grid("int8", 127, math.inf, chunk, stochastic=False)


INT8 = CodecRecord(
    name="int8",
    make=int8,
    idea="whole numbers of 8 bits times a step for each chunk, rounded to nearest",
    source="",
    wire="4 m + d",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)
