"""Boxes: which elements of a global tensor a rank holds, whatever the layout, and what two layouts have in common.

Idea      Every layout of a training cuts tensors along their dimensions, so what a rank holds of a tensor is a box: an
          offset and a length in each dimension. What one layout has saved and another wants is the intersection of two
          boxes. A range of elements in the order of the memory, as ZeRO cuts, is at most 2 d - 1 boxes of d dimensions:

              elements 2 to 10 of [4, 3]     . . a     a  row 0, from column 2
                                             b b b     b  rows 1 to 2
                                             b b b
                                             c c .     c  row 3, to column 1
Before    rank 0 of 2: rows 0-3 of w     rank 1 of 2: rows 4-7
After     rank 0 of 3: rows 0-2 of w     rank 1 of 3: rows 3-5, of both boxes     rank 2 of 3: rows 6-7
Exact     A box has at least one element; a number is a tensor of no dimensions, and the empty box () is all of it.
Source    torch.distributed.checkpoint saves such chunks (ChunkStorageMetadata; PyTorch 2.13).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

Shape = tuple[int, ...]


class Box(NamedTuple):
    """Elements of a tensor: in each dimension the first one, and how many."""

    offset: Shape
    shape: Shape

    @property
    def size(self) -> int:
        """How many elements."""
        return prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """As an index of the global tensor."""
        return tuple(slice(first, first + n) for first, n in zip(self.offset, self.shape))

    def within(self, other: Box) -> tuple[slice, ...]:
        """As an index of the tensor that holds another box, of which this one is a part."""
        return tuple(slice(a - b, a - b + n) for a, b, n in zip(self.offset, other.offset, self.shape))

    def overlap(self, other: Box) -> Box | None:
        """The elements of both, or None."""
        first = tuple(map(max, self.offset, other.offset))
        ends = (min(a + n, b + m) for a, n, b, m in zip(*self, *other)) if self.shape else ()
        shape = tuple(end - start for start, end in zip(first, ends))
        return Box(first, shape) if all(n > 0 for n in shape) else None

    def hull(self, other: Box) -> range:
        """Which elements of the tensor that holds `other`, in the order of its memory, this part of it spans."""
        strides = [prod(other.shape[d + 1 :]) for d in range(len(other.shape))]
        first = sum((a - b) * s for a, b, s in zip(self.offset, other.offset, strides))
        return range(first, first + sum((n - 1) * s for n, s in zip(self.shape, strides)) + 1)


class Portion(NamedTuple):
    """What a rank holds of one tensor of a state.

    shape   of the whole tensor
    parts   [(box, values)]: values, of the box's shape, may be a view; a load writes into it
    """

    shape: Shape
    parts: Sequence[tuple[Box, Tensor]]


def of_shape(shape: Sequence[int]) -> Box:
    """The box that is the whole tensor."""
    return Box((0,) * len(shape), tuple(shape))


def everything(tensor: Tensor) -> Portion:
    """The portion of a rank that holds all of a tensor."""
    tensor = tensor.detach()
    return Portion(tuple(tensor.shape), [(of_shape(tensor.shape), tensor)] if tensor.numel() else [])


def at(tensor: Tensor, shape: Sequence[int], offset: Sequence[int]) -> Portion:
    """The portion of a rank that holds one box: this tensor, which begins at `offset` of a tensor of this shape."""
    tensor = tensor.detach()
    box = Box(tuple(offset), tuple(tensor.shape))
    return Portion(tuple(shape), [(box, tensor)] if tensor.numel() else [])


def flat_range(tensor: Tensor, shape: Sequence[int], first: int) -> Portion:
    """The portion of a rank that holds elements first, first + 1, ... of a tensor, in the order of its memory.

    tensor: as many elements as it holds, contiguous.
    """
    values = tensor.detach().view(-1)
    boxes = flat_boxes(shape, first, first + len(values))
    return Portion(tuple(shape), list(zip(boxes, consecutive(values, boxes))))


def consecutive(values: Tensor, boxes: Sequence[Box]) -> list[Tensor]:
    """Values that lie one box behind the other, as views of the boxes' shapes."""
    parts = values.split([box.size for box in boxes])
    return [part.view(box.shape) for part, box in zip(parts, boxes)]


def flat_boxes(shape: Sequence[int], first: int, after: int) -> list[Box]:
    """Elements first to after - 1, in the order of the memory, as boxes in this order."""
    if first >= after:
        return []
    if not shape:
        return [Box((), ())]
    row, rest = prod(shape[1:]), tuple(shape[1:])
    start, stop = -(-first // row), after // row  # whole rows
    if start > stop:  # within a row
        return _below(first // row, flat_boxes(rest, first % row, after - first // row * row))
    found = _below(start - 1, flat_boxes(rest, first % row, row)) if first % row else []
    if stop > start:
        found.append(Box((start,) + (0,) * len(rest), (stop - start, *rest)))
    return found + _below(stop, flat_boxes(rest, 0, after % row))


def _below(row: int, boxes: Iterable[Box]) -> list[Box]:
    """Boxes of a row, as boxes of the tensor."""
    return [Box((row, *box.offset), (1, *box.shape)) for box in boxes]


def missing(shape: Sequence[int], boxes: Iterable[Box]) -> Box | None:
    """Some elements of a tensor that are in none of the boxes, or None."""
    boxes = set(boxes)
    if not prod(shape) or of_shape(shape) in boxes:
        return None
    if not boxes:
        return of_shape(shape)
    ends = [
        sorted({0, n, *(b.offset[d] for b in boxes), *(b.offset[d] + b.shape[d] for b in boxes)})
        for d, n in enumerate(shape)
    ]
    cells = np.zeros([len(cuts) - 1 for cuts in ends], bool)
    index = [{end: k for k, end in enumerate(cuts)} for cuts in ends]
    for box in boxes:
        cells[tuple(slice(of[a], of[a + n]) for of, a, n in zip(index, *box))] = True
    if cells.all():
        return None
    hole = np.unravel_index(int(np.argmin(cells)), cells.shape)
    first = tuple(cuts[k] for cuts, k in zip(ends, hole))
    return Box(first, tuple(cuts[k + 1] - cuts[k] for cuts, k in zip(ends, hole)))


def in_words(box: Box) -> str:
    """As an index: [0:4, 2:3]."""
    return f"[{', '.join(f'{s.start}:{s.stop}' for s in box.slices)}]"


def as_bytes(tensor: Tensor) -> np.ndarray:
    """The memory of a contiguous tensor of the host, as bytes."""
    return tensor.detach().as_strided((tensor.numel(),), (1,)).view(torch.uint8).numpy()
