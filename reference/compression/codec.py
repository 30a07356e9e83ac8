"""A codec turns a vector into what really travels, and back.

    codec = top_k(10)
    wire = codec.encode(x, generator)  # 1-D uint8: indices, scales and packed bits are all in it
    y = codec.decode(wire, len(x))  # the receiver knows the codec and d, and nothing else

So bytes are counted, not claimed: len(wire). What a compressor C does to the mathematics is said by two formulas.

    variance      of each element of C(x), for the codecs that draw random numbers. With E C(x) = x (unbiased),
                  averaging over P ranks divides it by P, as it does with the noise of the samples themselves.
    contraction   delta in   E ||C(x) - x||^2 <= (1 - delta) ||x||^2   for every x of d elements. If delta > 0, error
                  feedback repairs what C leaves out (Stich, Cordonnier and Jaggi, "Sparsified SGD with Memory", 2018;
                  Karimireddy et al., "Error Feedback Fixes SignSGD", 2019). If not, feeding the error back may let it
                  grow without limit; if delta < 0, C(x) may be further from x than 0 is.

An unbiased codec has omega = 1 - delta with E ||C(x) - x||^2 <= omega ||x||^2, and omega is often far above 1. Divided
by 1 + omega it is biased, and a contraction: `damped`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from .bits import float_bytes, floats


class Codec(NamedTuple):
    """A compressor with its wire format and its formulas. Make one with `codec`, which checks what goes in."""

    name: str
    encode: Callable[..., Tensor]  # (x [d] float32 or float64, generator=None) -> wire, 1-D uint8
    decode: Callable[[Tensor, int], Tensor]  # (wire, d) -> [d] float32
    nbytes: Callable[[int], int | None]  # d -> len(wire); None: it depends on x
    unbiased: bool  # E decode(encode(x)) = x
    variance: Callable[[Tensor], Tensor] | None  # x [d] -> [d]; None: nothing is random
    contraction: Callable[[int], float] | None  # d -> delta; None: there is no bound for every x

    @property
    def random(self) -> bool:
        """Whether it draws random numbers; `encode` then needs a generator."""
        return self.variance is not None


def codec(
    name: str,
    encode: Callable[[Tensor, Generator | None], Tensor],
    decode: Callable[[Tensor, int], Tensor],
    nbytes: Callable[[int], int | None],
    *,
    unbiased: bool,
    variance: Callable[[Tensor], Tensor] | None,
    contraction: Callable[[int], float] | None,
) -> Codec:
    """A Codec that refuses what it cannot encode, and wires of a wrong length."""
    random = variance is not None

    def checked_encode(x: Tensor, generator: Generator | None = None) -> Tensor:
        check_vector(name, x)
        if random and generator is None:
            raise ValueError(f"{name} draws random numbers: encode(x, generator) needs a torch.Generator")
        return encode(x, generator)

    def checked_decode(wire: Tensor, d: int) -> Tensor:
        if nbytes(d) not in (None, len(wire)):
            raise ValueError(f"{name} needs {nbytes(d)} bytes for {d} elements, got {len(wire)}: of another codec?")
        return decode(wire, d)

    return Codec(name, checked_encode, checked_decode, nbytes, unbiased, variance, contraction)


@dataclass(frozen=True, kw_only=True)
class CodecRecord:
    """All that is known of a codec, next to what makes it; but for what a Codec says for itself.

    No field has a default: one that is forgotten is a TypeError when the module is imported. CODECS in catalogue.py
    lists the records; tests, the study, `train --compress` and the tables of the book ask it.

    name      by which it is chosen
    make      (**options) -> Codec
    idea      what is sent, in one sentence
    source    authors (year), ...: the docstring of the module has the titles; nothing if nobody's in particular
    wire      its bytes, a formula to be read: d elements in m chunks, k of them sent, an index of b = ceil(log2 d) bits
    variants  the options with which it is studied; the first are those of `train --compress`
    linear    whether C(x) + C(y) = C(x + y) if both draw the same random numbers: then a plain all-reduce can sum it
    feedback  whether training needs error feedback; None: that is no cure
    two_ways  whether the sum over ranks is encoded again (reduce.two_way_sum); else all wires go to all ranks

    Raises TypeError if `make` does not take these options or forgets a field of the Codec, and ValueError for two ways
    with wires whose size depends on what is in them.
    """

    name: str
    make: Callable[..., Codec]
    idea: str
    source: str
    wire: str
    variants: tuple[dict[str, Any], ...]
    linear: bool
    feedback: bool | None
    two_ways: bool

    def __post_init__(self):
        sizes = [self.make(**options).nbytes(1) for options in self.variants]  # made, so that an error is told at once
        if self.two_ways and None in sizes:
            raise ValueError(f"{self.name}: wires of varying size cannot go two ways: say two_ways=False")

    @property
    def codec(self) -> Codec:
        """The one that is chosen by its name alone."""
        return self.make(**self.variants[0])


def check_vector(name: str, x: Tensor) -> None:
    """Raise TypeError or ValueError unless x is a vector of at least one number that is finite in float32.

    Vectors may be float64, for trainings that shall not depend on rounding. What travels is float32 all the same.
    """
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"{name} encodes float32 or float64, not {x.dtype}: call x.float() first")
    if x.dim() != 1 or not len(x):
        raise ValueError(f"{name} encodes vectors [d] with d >= 1, not shape {list(x.shape)}: flatten first")
    if not x.float().isfinite().all():
        bad = int((~x.float().isfinite()).sum())
        raise ValueError(f"{name}: {bad} of {len(x)} elements are NaN or infinite: find the cause first")


def roundtrip(codec: Codec, x: Tensor, generator: Generator | None = None) -> Tensor:
    """C(x) [d] float32: what the receiver of x's wire has."""
    return codec.decode(codec.encode(x, generator), len(x))


def damped(codec: Codec) -> Codec:
    """C / (1 + omega), decoded from the same wire: biased, but a contraction with delta = 1 / (1 + omega).

    E ||a C(x) - x||^2 = a^2 E ||C(x) - x||^2 + (1 - a)^2 ||x||^2, least for a = 1 / (1 + omega). Raises ValueError if
    `codec` is not unbiased or its omega is unknown.
    """
    if not codec.unbiased or codec.contraction is None:
        raise ValueError(f"{codec.name} is not an unbiased codec with a known omega: there is nothing to divide by")

    def a(d: int) -> float:
        return 1 / (2 - codec.contraction(d))  # omega = 1 - delta

    return codec._replace(
        name=f"damped {codec.name}",
        decode=lambda wire, d: a(d) * codec.decode(wire, d),
        unbiased=False,
        variance=codec.variance and (lambda x: a(len(x)) ** 2 * codec.variance(x)),
        contraction=a,
    )


def float32() -> Codec:
    """No compression: the bytes of x as they are, 4 per element."""
    return codec(
        "float32",
        lambda x, generator: float_bytes(x.clone()),  # a wire must not change with x
        lambda wire, d: floats(wire),
        lambda d: 4 * d,
        unbiased=True,
        variance=None,
        contraction=lambda d: 1.0,
    )


FLOAT32 = CodecRecord(
    name="float32",
    make=float32,
    idea="no compression: every element as it is",
    source="",
    wire="4 d",
    variants=({},),
    linear=True,
    feedback=False,
    two_ways=False,
)
