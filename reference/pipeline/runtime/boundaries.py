"""Boundaries: what passes from stage to stage, agreed before it does, so that every rank knows what will come.

Idea      A receive has to be posted before its message comes, with memory of the right size. Who receives knows no
          sizes; who sends will know them when it has computed. But sizes can be had without computing: a stage that
          runs on torch's meta device handles shapes only. So the stages pass a description along the chain, once for
          each shape of micro-batch, and later messages carry nothing but numbers. Stages that communicate within
          themselves cannot run on that device: whoever made them foretells what they hand on.
Sends     16 bytes in every step, to see that all ranks have the same shapes; for shapes that are new, a broadcast of
          some tens of bytes for each stage.
          If no weight so far is trained, nobody needs the gradient for a boundary, and none is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import NamedTuple
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ... import mpi
from ...agreement import agree
from ...models import Data
from ..schedule import Schedule


class Boundary(NamedTuple):
    """The tensor that a stage hands on: its shape and type, and whether a gradient comes back for it."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of one message, in either direction."""
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')} {list(self.shape)}"


def of(x: Tensor) -> Boundary:
    """The description of a tensor."""
    return Boundary(tuple(x.shape), x.dtype, x.requires_grad)


Foretold = Callable[[Boundary], list[Boundary]]


class Boundaries:
    """What a pipeline's stages hand on, for each shape of micro-batch so far.

    stages    those of this rank
    foretold  what each stage hands on if a micro-batch's x is such a tensor; found by `infer_boundaries` unless given
    """

    def __init__(self, comm, schedule: Schedule, stages: Mapping[int, nn.Module], foretold: Foretold | None = None):
        self.comm, self.schedule, self.stages = comm, schedule, stages
        self.foretold = foretold or partial(infer_boundaries, comm, schedule, stages)
        self.known: dict[Boundary, list[Boundary]] = {}  # of x: what each stage makes of it

    def agree(self, micro_batches: Sequence[Data]) -> list[list[Boundary]]:
        """Of each micro-batch what each stage hands on. Collective: the ranks compare what they were given.

        Raises ValueError on every rank if shapes differ between ranks or do not fit the stages, or if these are not as
        many micro-batches as the schedule has.
        """
        lines = [f"x {of(data.x)}, y {of(data.y)}" for data in micro_batches]
        number = crc32("\n".join(lines).encode())
        most = torch.tensor([number, -number])
        mpi.wait(self.comm.Iallreduce(mpi.IN_PLACE, most, op=mpi.MAX))
        if most[0] != -most[1]:
            agree(self.comm, "the micro-batches", lines)
        if len(lines) != self.schedule.micro_batches:
            raise ValueError(
                f"{self.schedule.name} is made for {self.schedule.micro_batches} micro-batches and was given "
                f"{len(lines)}: cut the batch into as many, or make the schedule for these"
            )
        firsts = [of(data.x) for data in micro_batches]
        for first in dict.fromkeys(firsts):
            if first not in self.known:
                self.known[first] = self.foretold(first)
        return [self.known[first] for first in firsts]


def infer_boundaries(comm, schedule: Schedule, stages: Mapping[int, nn.Module], first: Boundary) -> list[Boundary]:
    """What each stage hands on if the first is given `first`, the same on all ranks. stages: those of this rank.

    Raises ValueError on every rank if a stage cannot take what the one before hands on, or hands on something else than
    one tensor.
    """
    owners = {s: r for r, chunks in reversed(list(enumerate(schedule.chunks))) for s in chunks}
    found = [first]
    for s in range(schedule.stages):
        mine = _after(s, stages[s], found[-1]) if owners[s] == comm.rank else None
        theirs = comm.bcast(mine, root=owners[s])
        if isinstance(theirs, str):
            raise ValueError(theirs)
        found.append(theirs)
    return found[1:]


def _after(s: int, stage: nn.Module, before: Boundary) -> Boundary | str:
    """What stage s hands on, or why it cannot."""
    try:
        y = on_meta(stage, before)
    except Exception as error:
        whose = f"stage {s - 1} hands on" if s else "a micro-batch has"
        return f"stage {s} cannot take what {whose}, {before}: {error}"
    if not isinstance(y, Tensor):
        return f"stage {s} hands on a {type(y).__name__}, and not one tensor: cut the model elsewhere"
    return of(y)


def on_meta(stage: nn.Module, before: Boundary) -> Tensor:
    """What the stage makes of such a tensor: its shape, type and requires_grad, without numbers."""
    state = [*stage.named_parameters(), *stage.named_buffers()]
    on_meta = {name: torch.empty_like(x, device="meta").requires_grad_(x.requires_grad) for name, x in state}
    x = torch.empty(before.shape, dtype=before.dtype, device="meta", requires_grad=before.requires_grad)
    return functional_call(stage, on_meta, (x,))
