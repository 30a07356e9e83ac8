"""One bit for each element: its sign, or one of two levels at random.

Idea      A bit chooses between two numbers that are sent once. The mean magnitude with either sign, and the means of
          the two halves, are as near to x as such numbers can be, and biased. Drawn at random from the two ends of the
          range they are right on average, and far off. Without any number a bit is a vote.
Sends     d bits, and one or two float32 numbers.
Source    Seide et al., "1-Bit Stochastic Gradient Descent" (2014): the two means. Bernstein et al., "signSGD" (2018):
          the vote. Karimireddy et al., "Error Feedback Fixes SignSGD" (2019): the scaled sign.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats, pack, packed_bytes, unpack
from .codec import Codec, CodecRecord, codec
from .quantize import divide, stochastic_round


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
        "stochastic sign",
        encode,
        scaled_bits,
        lambda d: 4 + packed_bytes(d, 1),
        unbiased=True,
        variance=lambda x: x.abs().max() ** 2 - x**2,
        contraction=lambda d: 2.0 - d,
    )


STOCHASTIC_SIGN = CodecRecord(
    name="stochastic sign",
    make=stochastic_sign,
    idea="the largest magnitude or its negative, rounded at random",
    source="",
    wire="4 + ceil(d / 8)",
    variants=({},),
    linear=False,
    feedback=False,
    two_ways=True,
)


def scaled_sign() -> Codec:
    """sign(x_i) ||x||_1 / d (0 counts as positive). delta is ||x||_1^2 / (d ||x||_2^2), which is at least 1/d."""

    def encode(x: Tensor, generator: Generator | None) -> Tensor:
        return torch.cat([float_bytes(x.abs().mean()), pack((x >= 0).to(torch.uint8), 1)])

    return codec(
        "scaled sign",
        encode,
        scaled_bits,
        lambda d: 4 + packed_bytes(d, 1),
        unbiased=False,
        variance=None,
        contraction=lambda d: 1 / d,
    )


SCALED_SIGN = CodecRecord(
    name="scaled sign",
    make=scaled_sign,
    idea="all signs, and the mean magnitude",
    source="Karimireddy et al. (2019)",
    wire="4 + ceil(d / 8)",
    variants=({},),
    linear=False,
    feedback=True,
    two_ways=True,
)


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

    return codec(
        "one-bit",
        encode,
        decode,
        lambda d: 8 + packed_bytes(d, 1),
        unbiased=False,
        variance=None,
        contraction=lambda d: 1 / d,
    )


ONE_BIT = CodecRecord(
    name="one-bit",
    make=one_bit,
    idea="all signs, the mean of the positive elements, and the mean of the others",
    source="Seide et al. (2014)",
    wire="8 + ceil(d / 8)",
    variants=({},),
    linear=False,
    feedback=True,
    two_ways=True,
)


def sign() -> Codec:
    """+1 or -1 for each element, 0 counts as +1: one bit, no scale. One more bit is never set: not all are 255 then."""
    return codec(
        "sign",
        lambda x, generator: pack(torch.cat([x >= 0, x.new_zeros(1, dtype=torch.bool)]).to(torch.uint8), 1),
        lambda wire, d: 2.0 * unpack(wire, 1, d).float() - 1.0,
        lambda d: packed_bytes(d + 1, 1),
        unbiased=False,
        variance=None,
        contraction=None,
    )


SIGN = CodecRecord(
    name="sign",
    make=sign,
    idea="+1 or -1: a vote for each element",
    source="Bernstein et al. (2018)",
    wire="ceil((d + 1) / 8)",
    variants=({},),
    linear=False,
    feedback=None,
    two_ways=True,
)
