"""Quantisers: every element is rounded to one of few levels between -scale and scale, and the scale is sent once.

Papers    Seide et al., "1-Bit Stochastic Gradient Descent" (2014): the two means. Alistarh et al., "QSGD" (2017).
          Wen et al., "TernGrad" (2017). Bernstein et al., "signSGD" (2018). Karimireddy et al., "Error Feedback
          Fixes SignSGD" (2019): the scaled sign.
Idea      Divide by the scale and round to a whole number of few bits. Rounded at random, up with probability frac(y),
          it is right on average: E floor(y) + Bernoulli(frac(y)) = floor(y) + frac(y) = y, for whole y, too.
Grid      2 s + 1 levels, scale/s * {-s, ..., 0, ..., s}
              qsgd                 scale ||x||_2,   rounded at random
              terngrad             scale ||x||_inf, rounded at random, s = 1
              stochastic_rounding  scale ||x||_inf, rounded at random, s = 2^(b-1) - 1
              int8                 scale ||x||_inf, rounded to nearest, s = 127
One bit   two levels: stochastic_sign (unbiased), scaled_sign and one_bit (biased)
Wire      m float32 scales, one for each chunk, then d numbers of b bits: 4 m + ceil(d b / 8) bytes
Chunks    A scale that serves fewer elements fits them better: the variance grows with their number c, 4 bytes with 1/c.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from . import elias
from .bits import float_bytes, floats, number, number_bytes, pack, packed_bytes, unpack, width
from .codec import Codec, codec


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
    scale = torch.linalg.vector_norm(parts, norm, dim=1, keepdim=True)
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


def terngrad(chunk: int | None = None) -> Codec:
    """max|x| sign(x_i) Bernoulli(|x_i| / max|x|), two bits (Wen et al. 2017, who also clip x; that is left out)."""
    return grid("terngrad", 1, math.inf, chunk)


def stochastic_rounding(bits: int, chunk: int | None = None) -> Codec:
    """Whole numbers of `bits` >= 2 bits times a step of max|x| / (2^(bits-1) - 1), rounded at random."""
    return grid(f"stochastic rounding {bits}", 2 ** (bits - 1) - 1, math.inf, chunk)


def int8(chunk: int | None = 256) -> Codec:
    """INT8 with dynamic range: whole numbers from -127 to 127 times max|x| / 127 of each chunk, rounded to nearest."""
    return grid("int8", 127, math.inf, chunk, stochastic=False)


# On two levels: one bit ----------------------------------------------------------------------------------------------


def signs(wire: Tensor, d: int) -> Tensor:
    """+1 where a bit is set and -1 where not, [d] float32."""
    return 2.0 * unpack(wire, 1, d).float() - 1.0


def scaled_bits(wire: Tensor, d: int) -> Tensor:
    """+-scale [d] float32 of a wire that holds the scale and a bit for each element."""
    return floats(wire[:4]) * signs(wire[4:], d)


def stochastic_sign() -> Codec:
    """+s with probability (1 + x_i / s) / 2, else -s, where s = max|x|: unbiased, with the variance s^2 - x_i^2.

    Its sum, d s^2 - ||x||^2, is at most (d - 1) ||x||^2: that is omega.
    """

    def encode(x: Tensor, generator: Generator) -> Tensor:
        s = x.abs().max()
        up = stochastic_round((1 + divide(x, s)) / 2, generator)
        return torch.cat([float_bytes(s), pack(up.to(torch.uint8), 1)])

    return codec(
        "two-level",
        encode,
        scaled_bits,
        lambda d: 4 + packed_bytes(d, 1),
        unbiased=True,
        variance=lambda x: x.abs().max() ** 2 - x**2,
        contraction=lambda d: 2.0 - d,
    )


def scaled_sign() -> Codec:
    """sign(x_i) ||x||_1 / d (0 counts as positive). delta is ||x||_1^2 / (d ||x||_2^2), which is at least 1/d."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        return torch.cat([float_bytes(x.abs().mean()), pack((x >= 0).to(torch.uint8), 1)])

    return codec("scaled sign", encode, scaled_bits, lambda d: 4 + packed_bytes(d, 1), contraction=lambda d: 1 / d)


def one_bit() -> Codec:
    """The mean of the elements >= 0, or the mean of the others (Seide et al. 2014, without their split into columns).

    No two numbers for these two sets are nearer to x, so delta is at least that of the scaled sign.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        positive = x >= 0
        sums = torch.stack([x.clamp(max=0).sum(), x.clamp(min=0).sum()])
        counts = torch.stack([(~positive).sum(), positive.sum()])
        return torch.cat([float_bytes(divide(sums, counts)), pack(positive.to(torch.uint8), 1)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return floats(wire[:8])[unpack(wire[8:], 1, d)]

    return codec("one-bit", encode, decode, lambda d: 8 + packed_bytes(d, 1), contraction=lambda d: 1 / d)
