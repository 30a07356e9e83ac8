"""What a codec does, measured: bytes, bias, variance, contraction, and what training makes of it.

Idea      A formula beside a measurement, for any codec, in one table (`measure`). Then the question that no formula of
          one step answers: P workers train together, each encodes its own gradient, and all decode all wires
          (`descend`). The workers are played one after the other, with no communicator; reduce.py has one.
Bytes     len(wire), averaged over the workers: what one of them has to say. How often it crosses a link depends on
          how the wires are exchanged.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..models import generator
from .codec import Codec, float32
from .error_feedback import ErrorFeedback
from .importance import importance_sampling
from .quantize import int8, one_bit, qsgd, qsgd_elias, scaled_sign, stochastic_rounding, terngrad, two_level
from .short_floats import bf16, fp16, logarithmic, scaled_fp16
from .sparse import random_k, seeded_random_k, sparse_sign, strom, threshold, top_k


def codecs(share: float = 0.01, tau: float = 2.0) -> list[Codec]:
    """Every codec of this package: the sparse ones send that share of the elements, or those above tau."""
    return [
        top_k(share),
        random_k(share),
        seeded_random_k(share),
        importance_sampling(share),
        threshold(tau),
        strom(tau),
        sparse_sign(share),
        qsgd(1),
        qsgd_elias(1),
        qsgd(16, chunk=512),
        terngrad(),
        stochastic_rounding(4),
        logarithmic(4),
        two_level(),
        scaled_sign(),
        one_bit(),
        int8(),
        fp16(),
        scaled_fp16(),
        bf16(),
    ]


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


def measure(codec: Codec, x: Tensor, draws: int = 100, seed: int = 0) -> Measured:
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


class Run(NamedTuple):
    """How a training went. All lists have an entry for the start and one for each `every` steps."""

    name: str
    steps: list[int]
    losses: list[float]
    nbytes: list[float]  # sent so far, by one worker on average
    errors: list[float]  # ||e|| of worker 0; 0 without error feedback
    w: Tensor  # [d], at the end


def descend(
    objective,
    codec: Codec | None,
    steps: int,
    lr: float,
    workers: int = 4,
    feedback: bool = False,
    seed: int = 0,
    every: int = 10,
) -> Run:
    """Gradient descent on an `Objective` or `Quadratic`; each worker's gradient goes through the codec. None: float32.

    Worker p sends C(g_p), or with feedback C(g_p + e_p), of its share g_p of the gradient of the mean loss, so the sum
    over the workers is what w moves along. Once an element of w exceeds 1e6, that is called divergence: the run ends
    there, with an infinite loss.
    """
    w, d = objective.start(), objective.d
    codec = codec or float32()
    senders = [ErrorFeedback(codec, d) if feedback else codec for _ in range(workers)]
    rngs = [generator(seed, rank) for rank in range(workers)]
    run = Run(codec.name + (" + EF" if feedback else ""), [], [], [], [], w)
    sent = 0

    def record(step: int, loss: float) -> None:
        error = float(senders[0].error.norm()) if feedback else 0.0
        for column, value in zip(run[1:5], (step, loss, sent / workers, error)):
            column.append(value)

    record(0, objective.loss(w))
    for step in range(steps):
        shares = [objective.gradient(w, step, rank, workers) for rank in range(workers)]
        total = sum(count for _, count in shares)
        wires = [sender.encode(g / total, rng) for sender, (g, _), rng in zip(senders, shares, rngs)]
        w -= lr * sum(codec.decode(wire, d) for wire in wires)
        sent += sum(map(len, wires))
        if not w.abs().max() < 1e6:
            record(step + 1, float("inf"))
            break
        if (step + 1) % every == 0:
            record(step + 1, objective.loss(w))
    return run
