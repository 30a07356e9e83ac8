"""Communication hooks: a Replica whose buckets travel compressed.

    replica = Replica(comm, module, communicate=gathered(top_k(0.01)))
    replica.communicate = power_sgd(replica, rank=2)  # needs the shapes of what is in a bucket

Idea      A Replica asks for no more than this: after the request's Wait, `flat` holds the sum over the ranks. A hook
          compresses when a bucket is full, and whatever it starts overlaps with the backward pass like an all-reduce.
          Each bucket has an error of its own; it is forgotten when the Replica makes new buckets.
          The hooks:
            short_float  the all-reduce itself in fp16 or bf16: half the bytes. Every addition of every hop is rounded.
            two_way      any codec of fixed size, so also fp16 and bf16: the same half, and two roundings instead of P
            gathered     any codec, by an all-gather of wires
            power_sgd    matrices of low rank, in two all-reduces
Exact     fp16 ends at 65,504, and a sum of P numbers that fit need not fit. So divide before: by P, or by more, since
          the gradient of a SUM over samples is larger than that of their mean by their number. But fp16 has no numbers
          between 0 and 6e-8 either, and what is divided too much is lost there: partly before, the rest after, in
          float32. bf16 has the range of float32 and needs nothing of that, but it has 8 bits: 256 + 1 = 256. (torch's
          fp16_compress_hook converts first and divides by P then: what is above 65,504 is lost before.)
          MPI cannot add bfloat16. Our own all-reduces can, for they add with torch.
          The error that is fed back is one of a sum over samples, too. If their number varies from step to step, an old
          error weighs as much as the samples of the step in which it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..collectives import allreduce
from ..collectives.algorithms import collective
from ..models import generator
from .catalogue import CODECS
from .codec import Codec
from .error_feedback import ErrorFeedback
from .powersgd import PowerSGD
from .powersgd import power_sgd as power_sgd_sum
from .reduce import TwoWay, allgather_sum, two_way_sum


class PerBucket:
    """A hook that keeps a state for each bucket, make(comm, index, flat), and returns start(comm, flat, state)."""

    def __init__(self, make: Callable, start: Callable):
        self.make, self.start = make, start
        self.kept: dict[int, tuple[Tensor, object]] = {}

    def __call__(self, comm, index: int, flat: Tensor):
        if index not in self.kept or self.kept[index][0] is not flat:  # the first time, or of new buckets
            self.kept[index] = flat, self.make(comm, index, flat)
        return self.start(comm, flat, self.kept[index][1])

    def state(self, index: int):
        """What is kept for a bucket."""
        return self.kept[index][1]

    def prepare(self, comm, flats: Sequence[Tensor]) -> None:
        """Make the states of all buckets now, so that saved ones can be put into them."""
        self.kept = {index: (flat, self.make(comm, index, flat)) for index, flat in enumerate(flats)}


@collective
def short_float_allreduce(comm, x: Tensor, dtype: torch.dtype, divisor: float, **how):
    """The sum of x over the ranks, taken in `dtype` of x / divisor: in place, in x [n] float32, which is returned."""
    short = (x / divisor).to(dtype)
    yield from allreduce.driver(comm, short, **how)
    return x.copy_(short).mul_(divisor)


def short_float(dtype: torch.dtype, divisor: float | None = None, **how) -> Callable:
    """A hook: the all-reduce in torch.float16 or torch.bfloat16. how: as for `allreduce`.

    divisor: by which to divide before, and multiply after; 1 for bfloat16 and for float16 the least power of two that
    is not below P unless told: powers of two round nothing that stays above 6e-5. If buckets hold sums over many
    samples, give their number.
    """

    def communicate(comm, index: int, flat: Tensor):
        by = divisor or (2 ** (comm.size - 1).bit_length() if dtype == torch.float16 else 1)
        return short_float_allreduce.start(comm, flat, dtype, by, **how)

    return communicate


def gathered(codec: Codec, feedback: bool = True, seed: int = 0, algorithm: str = "ring") -> PerBucket:
    """A hook: all wires to all ranks, with error feedback. seed: each rank and bucket draws numbers of its own."""

    def make(comm, index: int, flat: Tensor):
        sender = ErrorFeedback(codec, len(flat), flat.device) if feedback else codec
        return sender, generator(seed, index, comm.rank)

    return PerBucket(make, lambda comm, flat, state: allgather_sum.start(comm, state[0], flat, state[1], algorithm))


def two_way(codec: Codec, feedback: bool = True, seed: int = 0) -> PerBucket:
    """A hook: compressed on the way to the owner of a block, added in float32, compressed on the way back."""

    def make(comm, index: int, flat: Tensor):
        return TwoWay(codec, len(flat), comm.rank, comm.size, feedback, flat.device), generator(seed, index, comm.rank)

    return PerBucket(make, lambda comm, flat, state: two_way_sum.start(comm, flat, *state))


def power_sgd(replica, rank: int, seed: int = 0, warm_start: bool = True, feedback: bool = True, **how) -> PerBucket:
    """A hook for this Replica: matrices as P and Q of this rank, the rest as it is. how: as for `allreduce`."""

    def make(comm, index: int, flat: Tensor):
        shapes = [view.shape for view in replica.buckets[index].views]
        return index, PowerSGD(shapes, rank, generator(seed, index), warm_start, feedback)

    def start(comm, flat: Tensor, state: tuple[int, PowerSGD]):
        return power_sgd_sum.start(comm, replica.buckets[state[0]].views, state[1], **how)

    return PerBucket(make, start)


CHOICES = ("none", "power-sgd", *CODECS)
"""What a Replica can do with its buckets, by name."""


def chosen(name: str, replica) -> Callable:
    """The hook of that name, one of CHOICES, for this Replica: a codec is used in the way that its record says."""
    if name == "none":
        return replica.communicate
    if name == "power-sgd":
        return power_sgd(replica, rank=2)
    record = CODECS[name]
    return (two_way if record.two_ways else gathered)(record.codec, bool(record.feedback))
