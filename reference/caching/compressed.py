"""Compression on the way: fewer bytes over a link, for seconds at both ends. When is it faster?

Idea      n bytes over a link of B bytes/s take n / B. Compressed to n / C they take less, and the seconds of encoding
          and decoding are added, as nobody can send what is not encoded yet:

              seconds = n / E + n / (C B) + n / D           E, D: bytes/s of the encoder and of the decoder

          So it pays on links slower than (1 - 1/C) / (1/E + 1/D), whatever n is. In chunks the three go on at the same
          time, and the slowest of them sets the pace (`pipelined`).
Before    1                                 of the time without compression
After     (1 - p) + p / C + delta           p: the part that was transfer; delta: encoding and decoding, as a part of
                                            the time before
Exact     `quantize` bounds the error by half a step, (largest - smallest) / (2^b - 1) / 2; a tensor of equal numbers
          comes back as it was.
Left out  What a lossy transfer does to a training (chapters 3 and 13).
Source    Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities" (1967);
          Jacob et al., "Quantization and training of neural networks" (2018), for scale and offset; Lindstrom,
          "Fixed-Rate Compressed Floating-Point Arrays" (2014): ZFP; Liang et al., "SZ3" (2023).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import compression


def transfer_seconds(nbytes: float, bandwidth: float, ratio: float, encode: float, decode: float) -> float:
    """Encode, send, decode, one after the other. encode, decode: bytes/s of what is not compressed."""
    return nbytes / encode + nbytes / (ratio * bandwidth) + nbytes / decode


def pipelined(nbytes: float, bandwidth: float, ratio: float, encode: float, decode: float, chunks: int) -> float:
    """The same in equal chunks: while one is sent the next is encoded, and the one before is decoded."""
    stages = [seconds / chunks for seconds in (nbytes / encode, nbytes / (ratio * bandwidth), nbytes / decode)]
    return sum(stages) + (chunks - 1) * max(stages)


def most_bandwidth(ratio: float, encode: float, decode: float) -> float:
    """The link's bytes/s above which compression is slower than none, if nothing overlaps."""
    return (1 - 1 / ratio) / (1 / encode + 1 / decode)


def speedup(part: float, ratio: float, overhead: float = 0.0) -> float:
    """1 / ((1 - p) + p / C + delta): part p of the time was transfer, overhead delta is a part of the time before."""
    return 1 / (1 - part + part / ratio + overhead)


def derated(part: float, ratio: float, overhead: float) -> float:
    """1 / ((1 - p) + p / (C (1 - delta))), as often printed: delta lowers the ratio here, and is no time."""
    return 1 / (1 - part + part / (ratio * (1 - overhead)))


# Whole numbers of a few bits ------------------------------------------------------------------------------------------


class Quantized(NamedTuple):
    """x = smallest + step * numbers; numbers uint8 or int32 [shape of x]; smallest and step are float64."""

    numbers: Tensor
    smallest: float
    step: float
    dtype: torch.dtype


def quantize(x: Tensor, bits: int = 8) -> Quantized:
    """Affine quantisation of a whole tensor: 0 stands for its smallest element, 2^bits - 1 for its largest.

    Raises ValueError for bits outside 1 to 16, an empty tensor, or numbers that are not finite.
    """
    if not 1 <= bits <= 16 or not x.numel() or not bool(torch.isfinite(x).all()):
        raise ValueError(f"finite numbers, one or more, in 1 to 16 bits; got {x.numel()} numbers and {bits} bits")
    low, high = float(x.min()), float(x.max())
    step = (high - low) / (2**bits - 1)
    kind = torch.uint8 if bits <= 8 else torch.int32
    numbers = (x.double() - low) / (step or 1.0)  # all equal: all are 0, and there is nothing to divide by
    return Quantized(numbers.round().to(kind), low, step, x.dtype)


def dequantize(q: Quantized) -> Tensor:
    """The tensor again, each element within half a step, and what its type rounds."""
    return (q.smallest + q.step * q.numbers.double()).to(q.dtype)


# Measured -------------------------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A way to compress float32 tensors [n]: encode gives what travels, and nbytes of it; decode takes it and n."""

    name: str
    encode: Callable[[Tensor], Any]
    decode: Callable[[Any, int], Tensor]
    nbytes: Callable[[Any], int] = lambda wire: wire.nbytes


def of_codec(codec: compression.Codec) -> Method:
    """A codec of chapter 3 that draws no random numbers."""
    return Method(codec.name, codec.encode, codec.decode)


def affine(bits: int = 8) -> Method:
    """`quantize`; up to 8 bits take a byte."""
    return Method(
        f"affine, {bits} bits",
        lambda x: quantize(x, bits),
        lambda wire, n: dequantize(wire),
        lambda wire: wire.numbers.nbytes + 16,
    )


def zfp(bound: float) -> Method:
    """ZFP in its mode of fixed accuracy: an absolute bound. Needs the package zfpy."""
    import zfpy

    return Method(
        f"zfp, {bound:g}",
        lambda x: zfpy.compress_numpy(x.numpy(), tolerance=bound),
        lambda wire, n: torch.from_numpy(zfpy.decompress_numpy(wire)),
        len,
    )


def sz(bound: float) -> Method:
    """SZ3 with an absolute bound. Needs the package pysz."""
    from pysz import sz as sz3
    from pysz import szConfig, szErrorBoundMode

    config = szConfig()
    config.errorBoundMode, config.absErrorBound = szErrorBoundMode.ABS, bound
    return Method(
        f"sz, {bound:g}",
        lambda x: sz3.compress(x.numpy(), config)[0],
        lambda wire, n: torch.from_numpy(np.ascontiguousarray(sz3.decompress(wire, np.float32, (n,))[0])),
    )


class CompressionRun(NamedTuple):
    """What a method did with a tensor: ratio, the largest absolute error, seconds of both ends (the least)."""

    name: str
    ratio: float
    error: float
    encode: float
    decode: float


def measured(method: Method, x: Tensor, repeat: int = 5) -> CompressionRun:
    """Compress x [n], float32, and decompress it, so many times."""
    wire, encoding = _timed(lambda: method.encode(x), repeat)
    back, decoding = _timed(lambda: method.decode(wire, len(x)), repeat)
    ratio = x.nbytes / method.nbytes(wire)
    return CompressionRun(method.name, ratio, float((back.double() - x.double()).abs().max()), encoding, decoding)


def sent(method: Method | None, x: Tensor, bandwidth: float) -> float:
    """Seconds that x really takes to the other end of a link of so many bytes/s, which is played by sleeping.

    None sends it as it is. One after the other: encode, send, decode.
    """
    begin = time.perf_counter()
    if method is None:
        time.sleep(x.nbytes / bandwidth)
    else:
        wire = method.encode(x)
        time.sleep(method.nbytes(wire) / bandwidth)
        method.decode(wire, len(x))
    return time.perf_counter() - begin


def _timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return result, min(seconds)
