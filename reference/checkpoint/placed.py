"""Placed parameters: where the elements of what a rank trains belong in the tensors of the serial program.

Idea      A checkpoint is written in the serial program's names and shapes, so that any layout can read it. Each layout
          has its own way to say what a rank holds, and each is a list of pairs of boxes: these elements of mine are
          those of the whole. Ways that are combined are pairs within pairs.

              data parallelism, a stage of a pipeline     all of a parameter, where the rank has it
              tensor parallelism                          runs of indices in one dimension (parameter.shard)
              ZeRO                                        a range of the flattened elements of one of the above
Exact     An optimizer's moments lie where the elements of their parameter lie. Padding belongs nowhere: it is not
          saved, and stays as the layout has made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor

from .boxes import Box, Portion, Shape, consecutive, flat_boxes, of_shape

Pairs = list[tuple[Box, Box]]  # (box of what a rank has, box of the whole), of the same shape


class Placed(NamedTuple):
    """A parameter as this rank's optimizer knows it, and where it belongs.

    portion(values) is the portion that values of the parameter's shape are: its weights, a moment.
    """

    parameter: Tensor
    portion: Callable[[Tensor], Portion]


def of_parameters(named: Mapping[str, Tensor]) -> dict[str, Placed]:
    """Parameters that this rank has whole, or a part of, as their `shard` tells (tensor_parallel/shards.py)."""
    return {name: Placed(parameter, partial(_part, *_pairs(parameter))) for name, parameter in named.items()}


def of_groups(groups: Iterable[Any], named: Mapping[str, Tensor]) -> dict[str, Placed]:
    """The pieces that this rank has of the parameters in ZeRO's groups (zero/group.py); named: those parameters."""
    names = {id(parameter): name for name, parameter in named.items()}
    found = {}
    for group in groups:
        for i, (parameter, piece) in enumerate(zip(group.parameters, group.pieces)):
            local = group.sharding.shapes[i]
            first = group.sharding.piece(group.comm.rank, i).start
            shape, pairs = _pairs(parameter, local)
            found[names[id(parameter)]] = Placed(piece, partial(_range, shape, pairs, local, first))
    return found


def _pairs(parameter: Tensor, local: Shape | None = None) -> tuple[Shape, Pairs]:
    """The whole shape, and what this rank has of it: all, or runs along one dimension."""
    local = tuple(parameter.shape) if local is None else local
    place = getattr(parameter, "shard", None)
    if place is None:
        return local, [(of_shape(local), of_shape(local))]
    shape = _with(local, place.dim, place.size)
    pairs = []
    for here, there, length in runs(place.own):
        part = _with(local, place.dim, length)
        zeros = (0,) * len(local)
        pairs.append((Box(_with(zeros, place.dim, here), part), Box(_with(zeros, place.dim, there), part)))
    return shape, pairs


def _with(values: Sequence[int], dim: int, value: int) -> Shape:
    return (*values[:dim], value, *values[dim + 1 :])


def runs(own: Sequence[int]) -> list[tuple[int, int, int]]:
    """Neighbours that are so in the whole, too: (place here, place there, how many); places below 0 are none."""
    found: list[tuple[int, int, int]] = []
    for here, there in enumerate(own):
        if there < 0:
            continue
        if found and (sum(found[-1][::2]), sum(found[-1][1:])) == (here, there):
            found[-1] = (*found[-1][:2], found[-1][2] + 1)
        else:
            found.append((here, there, 1))
    return found


def _part(shape: Shape, pairs: Pairs, values: Tensor) -> Portion:
    """Of values that lie as the parameter does."""
    return Portion(shape, [(there, values[here.slices]) for here, there in pairs if there.size])


def _range(shape: Shape, pairs: Pairs, local: Shape, first: int, values: Tensor) -> Portion:
    """Of a range of the elements of a parameter of the shape `local`."""
    flat = values.reshape(-1)
    boxes = flat_boxes(local, first, first + len(flat))
    parts = []
    for box, part in zip(boxes, consecutive(flat, boxes)):
        for here, there in pairs:
            if both := box.overlap(here):
                moved = tuple(a - b + c for a, b, c in zip(both.offset, here.offset, there.offset))
                parts.append((Box(moved, both.shape), part[both.within(box)]))
    return Portion(shape, parts)
