"""Short floats: numbers of fewer bits whose error is relative to themselves, such as fp16, bf16 and powers of a base.

Idea      A grid (quantize.py) is as wide at 0 as at its end, and one large element makes all small ones 0. A float, and
          a logarithm, keep a few digits of each: a wide range costs bits in the exponent, not precision.
Price     The range. fp16 ends at 65,504 and at 6e-8. bf16 has the range of float32 and 8 significant bits. A scale that
          is sent along (dynamic range) moves the range to where the numbers are.
Left out  Loss scaling, and training in these types: that is another chapter. Here they only travel.
Source    Micikevicius et al., "Mixed Precision Training" (2018): fp16. Horvath et al., "Natural Compression for
          Distributed Deep Learning" (2019): powers of two, rounded at random.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, pack, packed_bytes, unpack
from .codec import Codec, CodecRecord, codec
from .quantize import divide, row_count, rows, stochastic_round


def shorter_float(name: str, dtype: torch.dtype, delta: float) -> Codec:
    """Each element rounded to `dtype`, two bytes."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        short = x.to(dtype)
        if not short.isfinite().all():
            most, limit = float(x.abs().max()), torch.finfo(dtype).max
            raise ValueError(f"{name} holds at most {limit:g}, but an element is {most:g}: use scaled_fp16 or bf16")
        return short.view(torch.uint8)

    return codec(
        name,
        encode,
        lambda wire, d: wire.clone().view(dtype).float(),
        lambda d: 2 * d,
        unbiased=False,
        variance=None,
        contraction=lambda d: delta,
    )


def fp16() -> Codec:
    """IEEE half precision: 11 significant bits, from 2^-14 to 65,504. It refuses larger elements.

    delta = 0, because tiny elements become 0: of a vector with nothing above 2^-25 all is lost.
    """
    return shorter_float("fp16", torch.float16, delta=0.0)


FP16 = CodecRecord(
    name="fp16",
    make=fp16,
    idea="floats of 16 bits, 11 of them digits",
    source="Micikevicius et al. (2018)",
    wire="2 d",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def bf16() -> Codec:
    """bfloat16: 8 significant bits and the range of float32. delta = 1 - 2^-16, elements below 2^-126 aside."""
    return shorter_float("bf16", torch.bfloat16, delta=1 - 2.0**-16)


BF16 = CodecRecord(
    name="bf16",
    make=bf16,
    idea="floats of 16 bits with the range of float32, 8 of them digits",
    source="",
    wire="2 d",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def scaled_fp16(chunk: int | None = 256) -> Codec:
    """Half precision with dynamic range: the largest element of each chunk becomes 2^15, so nothing is too large.

    What is below 2^-29 of the largest loses digits. 1 - delta is 2^-22, here doubled for what float32 rounds besides.
    """
    top = 2.0**15

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        parts = rows(x, chunk)
        scale = parts.abs().amax(1, keepdim=True)
        short = (divide(parts, scale) * top).view(-1)[: len(x)].half()
        return torch.cat([float_bytes(scale), short.view(torch.uint8)])

    def decode(wire: Tensor, d: int) -> Tensor:
        m = row_count(d, chunk)
        y = rows(wire[4 * m :].clone().view(torch.half).float(), chunk) / top
        return (y * floats(wire[: 4 * m])[:, None]).view(-1)[:d]

    return codec(
        "scaled fp16",
        encode,
        decode,
        lambda d: 4 * row_count(d, chunk) + 2 * d,
        unbiased=False,
        variance=None,
        contraction=lambda d: 1 - 2.0**-21,
    )


SCALED_FP16 = CodecRecord(
    name="scaled fp16",
    make=scaled_fp16,
    idea="fp16, with a scale for each chunk, so that nothing is too large",
    source="",
    wire="4 m + 2 d",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def logarithmic(bits: int, base: float = 2.0) -> Codec:
    """0, or a sign and one of max|x| base^-j with j = 0, 1, ..., J = 2^(bits-1) - 2, rounded at random: unbiased.

    Between l and base l the variance (base l - |x|) (|x| - l) is at most (base - 1)^2 / (4 base) x^2: 1/8 for base 2
    (Horvath et al. 2019). Below the least level it is at most max^2 base^(-2 J) / 4 for each element.
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


LOGARITHMIC = CodecRecord(
    name="logarithmic",
    make=logarithmic,
    idea="the largest magnitude divided by powers of a base, rounded at random",
    source="Horvath et al. (2019)",
    wire="4 + ceil(d bits / 8)",
    variants=({"bits": 4},),
    linear=False,
    feedback=False,
    two_ways=True,
)
