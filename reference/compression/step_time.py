"""The time of a compressed step: what encoding and decoding cost, against what the link no longer has to carry.

Idea      A dense ring sends 2 (P - 1)/P n bytes a rank. Wires of w bytes, all-gathered, are (P - 1) w: less for few
          ranks, more from P = 2 n / w on. And encoding and decoding, o seconds together, are paid whatever P is. So
              dense        2 (P - 1) (alpha + n/P beta)
              compressed   (P - 1) (alpha + w beta) + o
          and compression pays between two numbers of ranks, below a bandwidth, or never: `paying_ranks`,
          `paying_bandwidth`, `paying_overhead`.
          If a share p of a step is communication, compressed C times, and the codec takes delta steps:
          1 / ((1 - p) + p/C + delta)
Before    One is told: "25 GB of gradients, 0.5 GB compressed, 200 GB/s, 50 ms to compress and decompress: 1.22 times as
          quick". That is one transfer between two devices, with 50 ms charged twice (once, as it is written: 2.38). The
          gradients of P ranks have to be summed: with the same 100 ms it is 1.22 for 2 ranks, 1.86 for 8, 0.96 for 64
          and 0.34 for 256, three times as slow as without compression (`exercise`, `all_gather_speedup`).
Exact     What the link does may hide behind the backward pass; encoding and decoding need the device, and make the step
          longer if there is anything to hide behind. So compare steps, not transfers (`compressed_step`).
Left out  What a sparse or a two-way reduction sends instead (sparse_allreduce.volume, reduce.two_way_cost).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


def transfer(nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of one message: alpha + n beta."""
    return alpha + nbytes * beta


def exercise(dense: float, wire: float, beta: float, overhead: float) -> float:
    """The speedup of one transfer: dense / (wire + overhead), all of it on one link and no latency."""
    return transfer(dense, 0, beta) / (transfer(wire, 0, beta) + overhead)


def dense_ring(P: int, nbytes: float, alpha: float, beta: float) -> float:
    """2 (P - 1) (alpha + n/P beta)."""
    return 2 * (P - 1) * transfer(nbytes / P, alpha, beta)


def gathered(P: int, wire: float, overhead: float, alpha: float, beta: float) -> float:
    """(P - 1) (alpha + w beta) + o."""
    return (P - 1) * transfer(wire, alpha, beta) + overhead


def all_gather_speedup(P: int, nbytes: float, wire: float, overhead: float, alpha: float, beta: float) -> float:
    """How many times as quick an all-gather of wires is as the dense ring, nothing hidden; below 1 it is slower."""
    return dense_ring(P, nbytes, alpha, beta) / gathered(P, wire, overhead, alpha, beta)


def speedup_of_step(p: float, C: float, delta: float) -> float:
    """1 / ((1 - p) + p/C + delta): p of a step is communication, C times less of it, at a cost of delta steps."""
    return 1 / ((1 - p) + p / C + delta)


# Where it stops paying ------------------------------------------------------------------------------------------------


def paying_ranks(nbytes: float, wire: float, overhead: float, alpha: float, beta: float) -> tuple[float, float] | None:
    """Between which numbers of ranks (not rounded) compression is at least as quick; None if for no number.

    Where (P - 1) (2 n/P beta + alpha - w beta) = o: a parabola in P. Needs w beta > alpha: else the upper end is inf.
    """
    a, b, c = wire * beta - alpha, (2 * nbytes + wire) * beta - alpha - overhead, 2 * nbytes * beta
    if b * b < 4 * a * c or (a >= 0 and b <= 0):
        return None
    root = math.sqrt(b * b - 4 * a * c)
    low = 2 * c / (b + root) if b > 0 else (b - root) / (2 * a)
    return low, (b + root) / (2 * a) if a > 0 else math.inf  # the longer the ring, the more latency is saved


def paying_overhead(P: int, nbytes: float, wire: float, alpha: float, beta: float) -> float:
    """The seconds that encoding and decoding may take together; 0 or less: it cannot pay."""
    return dense_ring(P, nbytes, alpha, beta) - gathered(P, wire, 0.0, alpha, beta)


def paying_bandwidth(P: int, nbytes: float, wire: float, overhead: float) -> float:
    """Bytes a second up to which compression pays on P ranks, latency left out; 0 if on no link."""
    saved = (P - 1) * (2 * nbytes / P - wire)
    return max(0.0, saved / overhead) if overhead else math.inf * (saved > 0)


# A step with overlap --------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A part of the gradient, in seconds: the backward pass that makes it, its encoding, transfer and decoding."""

    backward: float
    encode: float
    transfer: float
    decode: float


class CompressedStep(NamedTuple):
    """When a step ends, and for how long of it the device neither trained nor waited (codec), or waited (exposed)."""

    seconds: float
    codec: float
    exposed: float


def compressed_step(forward: float, pieces: Sequence[Piece]) -> CompressedStep:
    """One device, which trains, encodes and decodes; one link, which carries one piece after the other beside it.

    Pieces in the order in which the backward pass makes them: backward and encode at once, then transfer when the link
    is free. What has come is decoded in the same order when the backward pass is through.
    """
    device = link = forward
    arrivals = []
    for piece in pieces:
        device += piece.backward + piece.encode
        link = max(device, link) + piece.transfer
        arrivals.append(link)
    for arrival, piece in zip(arrivals, pieces):
        device = max(device, arrival) + piece.decode
    codec = sum(piece.encode + piece.decode for piece in pieces)
    return CompressedStep(device, codec, device - codec - forward - sum(piece.backward for piece in pieces))
