"""A study of what codecs do, measured: bytes, bias, variance, contraction, and what training makes of them.

Idea      A formula beside a measurement, for any codec, in one table (`measure_error`). Then the question that no
          formula of one step answers: P workers train together, each encodes its own gradient, and all decode all wires
          (`descend`). The workers are played one after the other, with no communicator; reduce.py has one.
Sends     len(wire), averaged over the workers: what one of them has to say. How often it crosses a link depends on
          how the wires are exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ..models import generator, share
from .catalogue import CODECS
from .codec import Codec, float32
from .error_feedback import ErrorFeedback


def codecs() -> list[Codec]:
    """Every codec of the catalogue, in each of its variants."""
    return [record.make(**options) for record in CODECS.values() for options in record.variants]


class Measured(NamedTuple):
    """One codec on one vector x. Every number but the first two is relative to ||x|| or ||x||^2."""

    name: str
    nbytes: float  # of the wire, per element
    bias: float  # ||mean of the draws - x||
    chance: float  # what the bias of an unbiased codec is expected to be with so few draws (root mean square)
    variance: float  # E ||C(x) - E C(x)||^2, over the draws
    formula: float  # the same by the codec's formula
    error: float  # E ||C(x) - x||^2
    bound: float  # 1 - delta: what the error is at most, for any x; infinite if nothing is promised


def measure_error(codec: Codec, x: Tensor, draws: int = 100, seed: int = 0) -> Measured:
    """Encode and decode x [d] `draws` times (once, if the codec draws nothing)."""
    d, square, rng = len(x), float(x.double().square().sum()), generator(seed)
    wires = [codec.encode(x, rng) for _ in range(draws if codec.random else 1)]
    C = torch.stack([codec.decode(wire, d) for wire in wires]).double()
    mean = C.mean(0)
    formula = float(codec.variance(x).double().sum()) if codec.random else 0.0
    return Measured(
        name=codec.name,
        nbytes=sum(map(len, wires)) / len(wires) / d,
        bias=float((mean - x).norm()) / square**0.5,
        chance=(formula / len(wires) / square) ** 0.5,
        variance=float((C - mean).square().sum()) / max(1, len(wires) - 1) / square,
        formula=formula / square,
        error=float((C - x).square().sum()) / len(wires) / square,
        bound=1 - codec.contraction(d) if codec.contraction else float("inf"),
    )


def table(rows: Sequence[Measured]) -> str:
    """The measurements as text, one codec a line."""
    head = ["codec", "bytes each", "bias", "by chance", "variance", "formula", "error", "at most"]
    lines = [[row.name, *(f"{value:.3g}" for value in row[1:])] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *lines)]
    return "\n".join(
        line[0].ljust(widths[0]) + "".join(cell.rjust(width + 2) for cell, width in zip(line[1:], widths[1:]))
        for line in [head, *lines]
    )


# Training ------------------------------------------------------------------------------------------------------------


class OppositeSamples:
    """f(w) = 1/2 <a, w>^2 + 1/2 <b, w>^2 with a = (1 + eps, -1 + eps), b = (-1 + eps, 1 + eps): least, 0, at w = 0.

    A sample's gradient is a multiple of a or of b; its signs are (+, -) or (-, +). Steps along signs of samples never
    change w_1 + w_2, so they stay at f >= 4 eps^2 (Karimireddy et al. 2019). Of two workers each has one sample.
    """

    d = 2

    def __init__(self, eps: float = 0.5):
        self.rows = torch.tensor([[1 + eps, -1 + eps], [-1 + eps, 1 + eps]])

    def start(self) -> Tensor:
        """(1, 1)."""
        return torch.ones(2)

    def gradient(self, w: Tensor, step: int, rank: int = 0, ranks: int = 1) -> tuple[Tensor, int]:
        """The gradient [2] of the SUM over this worker's samples, and their number."""
        mine = share(self.rows, rank, ranks)
        return mine.T @ (mine @ w), len(mine)

    def loss(self, w: Tensor) -> float:
        """f(w)."""
        return float((self.rows @ w).square().sum() / 2)


class TrainingCurve(NamedTuple):
    """How a training went. All lists have an entry for the start and one for each `every` steps."""

    name: str
    steps: list[int]
    losses: list[float]
    nbytes: list[float]  # sent so far, by one worker on average
    errors: list[float]  # ||e|| of worker 0; 0 without error feedback
    w: Tensor  # [d], at the end


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread, as on a rank: for models this small, more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def descend(
    objective,
    codec: Codec | None,
    steps: int,
    lr: float,
    workers: int = 4,
    feedback: bool = False,
    seed: int = 0,
    every: int = 10,
) -> TrainingCurve:
    """Gradient descent on an `Objective` or `Quadratic`; each worker's gradient goes through the codec. None: float32.

    Once an element of w exceeds 1e6, that is called divergence: the run ends there, with an infinite loss.
    """
    w, codec, sent = objective.start(), codec or float32(), 0.0
    senders = [ErrorFeedback(codec, objective.d) if feedback else codec for _ in range(workers)]
    rngs = [generator(seed, rank) for rank in range(workers)]
    run = TrainingCurve(codec.name + (" + EF" if feedback else ""), [0], [objective.loss(w)], [0.0], [0.0], w)
    for step in range(1, steps + 1):
        g, nbytes = exchange(objective, w, step - 1, senders, rngs)
        w -= lr * g
        sent += nbytes / workers
        diverged = not w.abs().max() < 1e6
        if diverged or step % every == 0:
            run.steps.append(step)
            run.losses.append(float("inf") if diverged else objective.loss(w))
            run.nbytes.append(sent)
            first = senders[0]
            run.errors.append(float(first.error.norm()) if isinstance(first, ErrorFeedback) else 0.0)
        if diverged:
            break
    return run


def exchange(objective, w: Tensor, step: int, senders: Sequence, rngs: Sequence[Generator]) -> tuple[Tensor, int]:
    """What all decode in one step, the sum of the workers' wires [d], and the bytes of these wires together.

    Worker p encodes its share of the gradient of the mean loss at w: that of the sum over its samples, divided by the
    number of all. So the sum of the decoded shares is the gradient, but for compression.
    """
    shares = [objective.gradient(w, step, rank, len(senders)) for rank in range(len(senders))]
    total = sum(count for _, count in shares)
    wires = [sender.encode(g / total, rng) for sender, (g, _), rng in zip(senders, shares, rngs)]
    return sum(sender.decode(wire, len(w)) for sender, wire in zip(senders, wires)), sum(map(len, wires))
