"""Shards: which elements of which parameters a rank owns, as arithmetic on indices.

Idea      Adam and its like change every element by itself, so it does not matter how parameters are cut, only that each
          element has one owner. Here a rank owns one range of each parameter's elements, and what it owns lies in one
          vector of n elements, as many on every rank (zeros at the end, where there are fewer): so one all-gather, or
          one reduce-scatter, moves all of them. Two ways to cut parameters a [3, 2] and b [3] for 2 ranks:

              flat     rank 0: a0 a1 a2 a3 a4       one vector of all, cut evenly: n = ceil(9 / 2) = 5. ZeRO, FSDP
                       rank 1: a5 b0 b1 b2 -
              by rows  rank 0: a0 a1 a2 a3 b0 b1    each by its dimension 0, as torch.chunk does. FSDP2: a shard is rows
                       rank 1: a4 a5 b2 -  -  -     of a tensor still; n is larger, 4 + 2
Price     Flat: padding of less than P elements a group; the whole parameters are views of what the all-gather brought.
          By rows: up to P - 1 rows of each parameter, for ranks that have fewer, or none; a parameter that several
          ranks have is not contiguous in what arrives, and is copied out.
Source    Rajbhandari et al., "ZeRO" (2020), section 5; Zhao et al., "PyTorch FSDP" (2023), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

Shape = tuple[int, ...]


class Extent(NamedTuple):
    """Elements that stay together: the first one in the parameter, the first one in the gathered vector, how many."""

    first: int
    place: int
    length: int


@dataclass(frozen=True)
class Sharding:
    """Parameters of these shapes over P ranks: rank r has the elements cuts[i][r] to cuts[i][r + 1] of parameter i.

    Elements are counted in the order of the memory. The shards of all ranks, one behind the other, are the gathered
    vector [P n].
    """

    shapes: tuple[Shape, ...]
    cuts: tuple[tuple[int, ...], ...]

    @property
    def P(self) -> int:
        """How many ranks there are."""
        return len(self.cuts[0]) - 1

    @cached_property
    def n(self) -> int:
        """Elements of one rank's shard, with padding: those of the rank that has most."""
        return max(sum(self.lengths(rank)) for rank in range(self.P))

    def piece(self, rank: int, i: int) -> slice:
        """Which elements of parameter i a rank has."""
        return slice(self.cuts[i][rank], self.cuts[i][rank + 1])

    def lengths(self, rank: int) -> list[int]:
        """Of each parameter, how many elements a rank has."""
        return [cut[rank + 1] - cut[rank] for cut in self.cuts]

    def piece_shape(self, rank: int, i: int) -> Shape:
        """The shape of a rank's piece: rows of the parameter, or a vector where it is cut within a row."""
        length, row = self.lengths(rank)[i], self.shapes[i][1:]
        whole_rows = len(self.shapes[i]) > 0 and prod(row) > 0 and all(cut % prod(row) == 0 for cut in self.cuts[i])
        return (length // prod(row), *row) if whole_rows else (length,)

    @cached_property
    def spans(self) -> list[list[Extent]]:
        """Of each parameter, where its elements lie in the gathered vector [P n]."""
        found: list[list[Extent]] = [[] for _ in self.shapes]
        for rank in range(self.P):
            starts = accumulate(self.lengths(rank), initial=rank * self.n)
            for i, (place, after) in enumerate(pairwise(starts)):
                if after > place:
                    _extend(found[i], Extent(self.piece(rank, i).start, place, after - place))
        return found

    # Tensors ----------------------------------------------------------------------------------------------------------

    def shard(self, tensors: Sequence[Tensor], rank: int) -> Tensor:
        """A rank's shard [n] of these whole tensors: a copy, zeros where nothing belongs."""
        shard = tensors[0].new_zeros(self.n)
        for view, tensor, i in zip(self.split(shard, rank), tensors, range(len(tensors))):
            view.view(-1).copy_(tensor.detach().reshape(-1)[self.piece(rank, i)])
        return shard

    def split(self, shard: Tensor, rank: int) -> list[Tensor]:
        """A shard [n] as its pieces, one a parameter: views."""
        parts = shard[: sum(self.lengths(rank))].split(self.lengths(rank))
        return [part.view(self.piece_shape(rank, i)) for i, part in enumerate(parts)]

    def pack(self, tensors: Sequence[Tensor | None], into: Tensor) -> Tensor:
        """Write whole tensors into a gathered vector [P n], zeros for None and where nothing belongs; return it."""
        if self.P * self.n > sum(map(prod, self.shapes)):
            into.zero_()
        for tensor, spans in zip(tensors, self.spans):
            for first, place, length in spans:
                part = into[place : place + length]
                part.zero_() if tensor is None else part.copy_(tensor.detach().reshape(-1)[first : first + length])
        return into

    def unpack(self, gathered: Tensor) -> list[Tensor]:
        """The whole tensors from a gathered vector [P n]: views where a tensor lies together, copies elsewhere."""
        return [self._whole(gathered, shape, spans) for shape, spans in zip(self.shapes, self.spans)]

    @cached_property
    def together(self) -> bool:
        """Whether each parameter lies together in the gathered vector, so that a view of that will do for it."""
        return all(len(spans) < 2 for spans in self.spans)

    def copy_out(self, gathered: Tensor, wholes: Sequence[Tensor]) -> None:
        """Copy a gathered vector [P n] into whole tensors."""
        for whole, spans in zip(wholes, self.spans):
            for first, place, length in spans:
                whole.view(-1)[first : first + length].copy_(gathered[place : place + length])

    def _whole(self, gathered: Tensor, shape: Shape, spans: list[Extent]) -> Tensor:
        parts = [gathered[place : place + length] for _, place, length in spans] or [gathered[:0]]
        return (parts[0] if len(parts) == 1 else torch.cat(parts)).view(shape)


def _extend(spans: list[Extent], more: Extent) -> None:
    """Append a span; to the last one, if it goes on there."""
    if spans and spans[-1].place + spans[-1].length == more.place:
        more = Extent(spans[-1].first, spans[-1].place, spans.pop().length + more.length)
    spans.append(more)


def flat(shapes: Sequence[Shape], P: int) -> Sharding:
    """All parameters as one vector, cut into P equal parts: the last ones may be shorter, or empty."""
    starts = list(accumulate(map(prod, shapes), initial=0))
    n = -(-starts[-1] // P)
    cuts = [[min(max(rank * n, first), after) - first for rank in range(P + 1)] for first, after in pairwise(starts)]
    return Sharding(tuple(map(tuple, shapes)), tuple(map(tuple, cuts)))


def by_rows(shapes: Sequence[Shape], P: int) -> Sharding:
    """Each parameter by its dimension 0, ceil(rows / P) rows a rank as torch.chunk; the last may have none."""
    cuts = []
    for shape in shapes:
        rows, row = (shape[0], prod(shape[1:])) if shape else (1, 1)  # a number is a row
        cuts.append([min(rank * -(-rows // P), rows) * row for rank in range(P + 1)])
    return Sharding(tuple(map(tuple, shapes)), tuple(map(tuple, cuts)))


Cut = Callable[[Sequence[Shape], int], Sharding]
