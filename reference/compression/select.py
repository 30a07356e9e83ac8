"""A selector of compressors: measure the link and the codecs, predict the step, take the quickest.

Before    One is told: "sparsity > 0.9: top-k; a wide range: logarithmic; else linear quantisation." What a gradient
          looks like says what a codec would leave out. Whether it should be used at all is a question of time: how fast
          the link is, how quick the codec, how many ranks, and what would have been hidden anyway. On a fast link it
          is: none.
Idea      These are numbers that can be measured. With them step_time.compressed_step predicts the step for any choice,
          so try them: first one and the same codec for all gradients, then changes of one gradient at a time while any
          helps.
          The link is measured by two messages of different size (`measure_link`), each codec by two vectors
          (`measure_codec`).
Exact     Every rank must choose alike, or one sends wires and the other numbers. The slowest rank's figures count for
          all (`agreed`); from equal figures all choose alike, without asking again.
Left out  What compression costs in steps, which a time model does not know: offer only codecs with which the model
          learns. What to do with the choice, and shares and thresholds that adapt: adaptive.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from .. import mpi
from ..collectives.select import choose as choose_allreduce
from ..networks import Link, uniform
from ..perf.measure import measure
from .codec import Codec
from .reduce import allgather_cost
from .step_time import Piece, compressed_step


class GroupLink(NamedTuple):
    """P ranks, and what one message costs: alpha seconds and beta seconds a byte."""

    P: int
    alpha: float
    beta: float


class Speed(NamedTuple):
    """Seconds to encode (or decode) d elements: start + d * each."""

    start: float
    each: float

    def seconds(self, d: int) -> float:
        """For d elements."""
        return self.start + d * self.each


class Candidate(NamedTuple):
    """A codec of fixed size and what it takes; codec None: no compression, a plain all-reduce."""

    name: str
    codec: Codec | None = None
    encode: Speed = Speed(0.0, 0.0)
    decode: Speed = Speed(0.0, 0.0)


NONE = Candidate("none")


# Measure --------------------------------------------------------------------------------------------------------------


def measure_link(comm, sizes: tuple[int, int] = (64, 2**20), repeat: int = 5) -> GroupLink:
    """alpha and beta of messages to the next rank while all ranks send: the same on every rank. sizes: bytes."""
    if comm.size == 1:
        return GroupLink(1, 0.0, 0.0)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    out, come = (torch.zeros(max(sizes), dtype=torch.uint8) for _ in range(2))
    messages = [lambda n=n: comm.Sendrecv(out[:n], right, 0, come[:n], left, 0) for n in sizes]
    short, long = (times.median for times in measure(comm, messages, repeat))
    beta = max(0.0, (long - short) / (sizes[1] - sizes[0]))
    return GroupLink(comm.size, max(0.0, short - sizes[0] * beta), beta)


def measure_codec(codec: Codec, sizes: tuple[int, int] = (1000, 100_000), repeat: int = 5) -> Candidate:
    """How long this rank takes to encode and decode normal random numbers; the least of some repetitions."""
    rng = torch.Generator().manual_seed(0)
    times = []
    for d in sizes:
        x = torch.randn(d, generator=rng)
        wire = codec.encode(x, rng)
        times.append((_least(repeat, codec.encode, x, rng), _least(repeat, codec.decode, wire, d)))
    each = [max(0.0, (long - short) / (sizes[1] - sizes[0])) for short, long in zip(*times)]
    speeds = [Speed(max(0.0, short - sizes[0] * slope), slope) for short, slope in zip(times[0], each)]
    return Candidate(codec.name, codec, *speeds)


def _least(repeat: int, call: Callable, *arguments) -> float:
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        call(*arguments)
        found.append(time.perf_counter() - start)
    return min(found)


def agreed(comm, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the figures of the slowest rank, alike on all; given in the same order on all ranks."""
    figures = torch.tensor([[*each.encode, *each.decode] for each in candidates], dtype=torch.float64)
    comm.Allreduce(mpi.IN_PLACE, figures, op=mpi.MAX)
    return [
        each._replace(encode=Speed(*row[:2]), decode=Speed(*row[2:])) for each, row in zip(candidates, figures.tolist())
    ]


# Choose ---------------------------------------------------------------------------------------------------------------


class Gradient(NamedTuple):
    """A gradient of d elements, and the seconds of the backward pass that make it."""

    d: int
    backward: float


class CodecChoice(NamedTuple):
    """A candidate for each gradient, and the seconds predicted for the step."""

    candidates: tuple[Candidate, ...]
    seconds: float


def piece(gradient: Gradient, candidate: Candidate, link: GroupLink) -> Piece:
    """Its times with this candidate: an all-reduce, or an all-gather of wires of which each rank decodes all.

    Raises ValueError for a codec whose wires vary in size: nobody could say how long they travel.
    """
    (P, alpha, beta), (d, backward), codec = link, gradient, candidate.codec
    if codec is None:
        return Piece(backward, 0.0, choose_allreduce(P, d, 4, uniform(alpha, beta)).seconds, 0.0)
    if (wire := codec.nbytes(d)) is None:
        raise ValueError(f"{candidate.name} has wires of varying size, so their time cannot be predicted")
    transfer = allgather_cost(P, wire, d, Link(alpha, beta)).seconds
    return Piece(backward, candidate.encode.seconds(d), transfer, P * candidate.decode.seconds(d))


def choose(
    gradients: Sequence[Gradient], candidates: Sequence[Candidate], link: GroupLink, forward: float = 0.0
) -> CodecChoice:
    """The quickest step that was found; never slower than with one candidate for all. NONE is always one.

    gradients: in the order in which the backward pass makes them.
    """
    offered = [NONE, *(each for each in candidates if each.codec is not None)]
    pieces = [[piece(gradient, each, link) for each in offered] for gradient in gradients]

    def seconds(chosen: Sequence[int]) -> float:
        return compressed_step(forward, [options[number] for options, number in zip(pieces, chosen)]).seconds

    best = min(([number] * len(gradients) for number in range(len(offered))), key=seconds)
    improved = True
    while improved:
        others = [best[:i] + [n] + best[i + 1 :] for i in range(len(best)) for n in range(len(offered))]
        found = min(others, key=seconds, default=best)
        improved = seconds(found) < seconds(best) * (1 - 1e-9)
        best = found if improved else best
    return CodecChoice(tuple(offered[number] for number in best), seconds(best))
