"""Quantisers: every element is sent, in few bits.

Papers    Seide et al., "1-Bit Stochastic Gradient Descent" (2014): the two means. Alistarh et al., "QSGD" (2017).
          Wen et al., "TernGrad" (2017). Bernstein et al., "signSGD" (2018). Karimireddy et al., "Error Feedback
          Fixes SignSGD" (2019): the scaled sign. Horvath et al., "Natural Compression" (2019): powers of two.
Idea      Divide by a scale, round to a whole number, send the number in few bits and the scale once. Rounded at random,
          up with probability frac(y), the result is right on average: E floor(y) + Bernoulli(frac(y)) = y.
Wire      m float32 scales (one for each chunk), then d numbers of b bits: 4 m + ceil(d b / 8) bytes
Family    on a grid of 2 s + 1 levels   scale/s * {-s, ..., 0, ..., s}
              qsgd                 scale ||x||_2,   at random
              terngrad             scale ||x||_inf, at random, s = 1
              stochastic_rounding  scale ||x||_inf, at random, s = 2^(b-1) - 1
              int8                 scale ||x||_inf, to nearest, s = 127
          on two levels, one bit    two_level, scaled_sign, one_bit
          on powers of a base       logarithmic
          as shorter floats         fp16, bf16
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, pack, packed_bytes, unpack, width
from .codec import Codec, codec


def stochastic_round(y: Tensor, generator: Generator) -> Tensor:
    """floor(y) + Bernoulli(y - floor(y)): whole numbers with E = y; whole y stay as they are. Shape as y."""
    low = y.floor()
    return low + (torch.rand(y.shape, generator=generator, device=y.device) < y - low)


def rows(x: Tensor, chunk: int | None) -> Tensor:
    """x [d] as [m, chunk], with zeros after the end; without a chunk size [1, d]."""
    chunk = chunk or len(x)
    return torch.nn.functional.pad(x, (0, -len(x) % chunk)).view(-1, chunk)


def divide(x: Tensor, scale: Tensor) -> Tensor:
    """x / scale, and 0 where the scale is 0 (all of x is then 0)."""
    return x / scale.where(scale > 0, 1.0)


# On a grid -----------------------------------------------------------------------------------------------------------


def grid(name: str, s: int, norm: float, chunk: int | None = None, stochastic: bool = True) -> Codec:
    """C(x) = scale/s round(s x / scale), with the scale ||x||_norm of each chunk of x: 2 s + 1 levels.

    Rounded at random it is unbiased with variance (scale/s)^2 f (1 - f), f the fraction of s x / scale. As f (1 - f) is
    at most 1/4 and at most f, omega = min(c / (4 s^2), sqrt(c) / s) for chunks of c elements.
    """
    b = width(2 * s + 1)

    def chunks(d: int) -> int:
        return -(-d // (chunk or d))

    def scaled(x: Tensor) -> tuple[Tensor, Tensor]:
        parts = rows(x, chunk)
        scale = torch.linalg.vector_norm(parts, norm, dim=1, keepdim=True)
        return scale, divide(s * parts, scale)  # multiplied first: x = scale is level s exactly

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        scale, y = scaled(x)
        level = (stochastic_round(y, generator) if stochastic else y.round()).clamp_(-s, s)
        return torch.cat([float_bytes(scale), pack((level + s).view(-1)[: len(x)].int(), b)])

    def decode(wire: Tensor, d: int) -> Tensor:
        m = chunks(d)
        level = rows(unpack(wire[4 * m :], b, d).float() - s, chunk)
        return (floats(wire[: 4 * m])[:, None] / s * level).view(-1)[:d]

    def variance(x: Tensor) -> Tensor:
        scale, y = scaled(x)
        f = y - y.floor()
        return ((scale / s) ** 2 * f * (1 - f)).view(-1)[: len(x)]

    def omega(d: int) -> float:
        c = min(chunk or d, d)
        return min(c / (4 * s**2), math.sqrt(c) / s) if stochastic else c / (4 * s**2)

    return codec(
        name,
        encode,
        decode,
        lambda d: 4 * chunks(d) + packed_bytes(d, b),
        unbiased=stochastic,
        variance=variance if stochastic else None,
        contraction=lambda d: 1 - omega(d),
    )


def qsgd(s: int, chunk: int | None = None) -> Codec:
    """QSGD with s levels: ||x||_2 sign(x_i) l/s, with l/s next to |x_i| / ||x||_2 (Alistarh et al. 2017)."""
    return grid(f"qsgd {s}", s, 2.0, chunk)


def terngrad(chunk: int | None = None) -> Codec:
    """TernGrad: max|x| sign(x_i) Bernoulli(|x_i| / max|x|), two bits (Wen et al. 2017; its clipping is left out)."""
    return grid("terngrad", 1, math.inf, chunk)


def stochastic_rounding(bits: int, chunk: int | None = None) -> Codec:
    """Whole numbers of `bits` bits times a step of max|x| / (2^(bits-1) - 1), rounded at random."""
    return grid(f"stochastic rounding {bits}", 2 ** (bits - 1) - 1, math.inf, chunk)


def int8(chunk: int | None = 256) -> Codec:
    """INT8 with dynamic range: whole numbers from -127 to 127 times max|x| / 127 of each chunk, rounded to nearest."""
    return grid("int8", 127, math.inf, chunk, stochastic=False)


# On two levels: one bit ----------------------------------------------------------------------------------------------


def two_level() -> Codec:
    """+s with probability (1 + x_i / s) / 2, else -s, with s = max|x|: one bit, unbiased, variance s^2 - x_i^2."""

    def encode(x: Tensor, generator: Generator) -> Tensor:
        s = x.abs().max()
        up = stochastic_round((1 + divide(x, s)) / 2, generator)
        return torch.cat([float_bytes(s), pack(up.to(torch.uint8), 1)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return floats(wire[:4]) * signs(wire[4:], d)

    return codec(
        "two-level",
        encode,
        decode,
        lambda d: 4 + packed_bytes(d, 1),
        unbiased=True,
        variance=lambda x: x.abs().max() ** 2 - x**2,
        contraction=lambda d: 2.0 - d,  # d s^2 - ||x||^2 <= (d - 1) ||x||^2
    )


def scaled_sign() -> Codec:
    """sign(x_i) ||x||_1 / d: one bit, biased; delta = ||x||_1^2 / (d ||x||_2^2), at least 1 / d."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        return torch.cat([float_bytes(x.abs().mean()), pack((x >= 0).to(torch.uint8), 1)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return floats(wire[:4]) * signs(wire[4:], d)

    return codec("scaled sign", encode, decode, lambda d: 4 + packed_bytes(d, 1), contraction=lambda d: 1 / d)


def one_bit() -> Codec:
    """The mean of those elements that are >= 0 or the mean of the others: one bit, biased (Seide et al. 2014).

    Of all codecs with these two sets it leaves the least error, so its delta is at least that of the scaled sign.
    """

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        positive = x >= 0
        above, below = positive.sum(), (~positive).sum()
        means = torch.stack([x.clamp(max=0).sum() / below.clamp(min=1), x.clamp(min=0).sum() / above.clamp(min=1)])
        return torch.cat([float_bytes(means), pack(positive.to(torch.uint8), 1)])

    def decode(wire: Tensor, d: int) -> Tensor:
        return floats(wire[:8])[unpack(wire[8:], 1, d)]

    return codec("one-bit", encode, decode, lambda d: 8 + packed_bytes(d, 1), contraction=lambda d: 1 / d)


def signs(wire: Tensor, d: int) -> Tensor:
    """+1 where a bit is set and -1 where not, [d] float32."""
    return 2.0 * unpack(wire, 1, d).float() - 1.0


# On powers of a base -------------------------------------------------------------------------------------------------


def logarithmic(bits: int, base: float = 2.0) -> Codec:
    """0 or a sign and one of max|x| base^-j, j = 0, 1, ..., 2^(bits-1) - 2, rounded at random: unbiased.

    The error is relative to the element and not to the largest: omega = (base - 1)^2 / (4 base), which is 1/8 for base
    2 (Horvath et al. 2019), and at most d/4 base^(-2 J) for the elements below the least level, J the largest j.
    """
    J = 2 ** (bits - 1) - 2

    def levels(top: Tensor) -> Tensor:  # ascending: 0, top base^-J, ..., top
        j = torch.arange(J, -1, -1, device=top.device, dtype=torch.float64)
        return torch.cat([j.new_zeros(1), base**-j]).mul(top).float()

    def between(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        level = levels(x.abs().max())
        low = (torch.searchsorted(level, x.abs(), right=True) - 1).clamp(max=J)
        return low, level[low], level[low + 1]

    def encode(x: Tensor, generator: Generator) -> Tensor:
        low, below, above = between(x)
        number = (low + stochastic_round(divide(x.abs() - below, above - below), generator)).int()
        return torch.cat([float_bytes(x.abs().max()), pack(number << 1 | (x < 0).int(), bits)])

    def decode(wire: Tensor, d: int) -> Tensor:
        number = unpack(wire[4:], bits, d)
        return levels(floats(wire[:4]))[number >> 1] * (1 - 2 * (number & 1))

    def variance(x: Tensor) -> Tensor:
        _, below, above = between(x)
        return (above - x.abs()) * (x.abs() - below)

    return codec(
        f"logarithmic {bits}",
        encode,
        decode,
        lambda d: 4 + packed_bytes(d, bits),
        unbiased=True,
        variance=variance,
        contraction=lambda d: 1 - (base - 1) ** 2 / (4 * base) - d / 4 * base ** (-2.0 * J),
    )


# As shorter floats ---------------------------------------------------------------------------------------------------


def fp16() -> Codec:
    """IEEE half precision: 11 significant bits from 2^-14 to 65,504. It refuses larger elements; below 2^-25 all is 0."""
    return shorter_float("fp16", torch.float16, delta=0.0)


def bf16() -> Codec:
    """bfloat16: 8 significant bits and the range of float32. delta = 1 - 2^-16, elements below 2^-126 aside."""
    return shorter_float("bf16", torch.bfloat16, delta=1 - 2.0**-16)


def scaled_fp16(chunk: int | None = 256) -> Codec:
    """Half precision with dynamic range: the largest element of each chunk becomes 2^15, so nothing is too large.

    What is smaller than 2^-29 of the largest loses bits. delta = 1 - 2^-22, less what the float32 division rounds.
    """
    top = 2.0**15

    def chunks(d: int) -> int:
        return -(-d // (chunk or d))

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        parts = rows(x, chunk)
        scale = parts.abs().amax(1, keepdim=True)
        short = (divide(parts, scale) * top).view(-1)[: len(x)].half()
        return torch.cat([float_bytes(scale), short.view(torch.uint8)])

    def decode(wire: Tensor, d: int) -> Tensor:
        m = chunks(d)
        y = rows(wire[4 * m :].clone().view(torch.half).float(), chunk)
        return (y * (floats(wire[: 4 * m]) / top)[:, None]).view(-1)[:d]

    return codec("scaled fp16", encode, decode, lambda d: 4 * chunks(d) + 2 * d, contraction=lambda d: 1 - 2.0**-21)


def shorter_float(name: str, dtype: torch.dtype, delta: float) -> Codec:
    """Each element rounded to `dtype`, two bytes."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        short = x.to(dtype)
        if not short.isfinite().all():
            most, limit = float(x.abs().max()), torch.finfo(dtype).max
            raise ValueError(f"{name} holds at most {limit:g}, but an element is {most:g}: scale it or use bf16")
        return short.view(torch.uint8)

    return codec(
        name,
        encode,
        lambda wire, d: wire.clone().view(dtype).float(),
        lambda d: 2 * d,
        contraction=lambda d: delta,
    )
