"""Shards: which elements of the serial model's parameter a rank holds, and the whole parameter from its shards.

Idea      A shard is an index: element i of this rank's shard, along `dim`, is element own[i] of the whole. So a shard
          of anything can be described, heads whose q, k and v lie together, or keys and values that several ranks have,
          and any layout can be loaded, compared with the serial model, and saved. -1 stands for padding: zeros.
          Every degree begins with the same weights, for they are cut from the same serial ones. (Drawn by each rank
          for itself they would have to be scaled, and would be other ones with every number of ranks.)
Price     The serial parameter exists on every rank while it is cut: one layer at a time, if the model is built so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .mappings import blocks, padded

PADDING = -1


class Shard(NamedTuple):
    """Where a rank's elements belong: along `dim`, of length `size` in the whole, at `own` (PADDING: nowhere)."""

    dim: int
    size: int
    own: tuple[int, ...]


def equal_parts(comm, n: int, pad: bool, what: str, size: int = 1) -> tuple[int, ...]:
    """The indices of this rank's contiguous part of n things of `size` elements each.

    Raises ValueError if P does not divide n, unless `pad`: then what is lacking is PADDING. what: the things' name.
    """
    things = padded(n, comm.size)
    if things != n and not pad:
        raise ValueError(
            f"{n} {what} cannot be shared equally by {comm.size} ranks: take a tensor-parallel degree that divides "
            f"{n}, or pad=True, which adds {what} that are zeros: {things - n} more"
        )
    mine = blocks(torch.arange(things), comm.size, 0)[comm.rank].tolist()
    return elements([thing if thing < n else PADDING for thing in mine], size)


def elements(things: Sequence[int], size: int) -> tuple[int, ...]:
    """The indices of all elements of these things, of `size` elements each."""
    return tuple(PADDING if thing == PADDING else thing * size + k for thing in things for k in range(size))


def shard(whole: Tensor, dim: int, own: Sequence[int]) -> nn.Parameter:
    """This rank's part of a serial parameter: a copy, with zeros where `own` is PADDING."""
    index = torch.tensor(own, device=whole.device)
    part = whole.detach().index_select(dim, index.clamp(min=0))
    part.index_fill_(dim, (index == PADDING).nonzero().flatten(), 0.0)
    parameter = nn.Parameter(part, whole.requires_grad)
    parameter.shard = Shard(dim, whole.shape[dim], tuple(own))  # type: ignore[attr-defined]
    return parameter


def replica(whole: Tensor | None) -> nn.Parameter | None:
    """A copy of a parameter that every rank has whole; None for None."""
    return None if whole is None else nn.Parameter(whole.detach().clone(), whole.requires_grad)


def whole(comm, parameter: Tensor, value: Tensor | None = None) -> Tensor:
    """The serial parameter from all ranks' shards, or what belongs to it: its gradient, an optimizer's moment.

    value: of the parameter's shape; the parameter itself unless given. Collective. What several ranks hold must be the
    same bits on all of them; ValueError on every rank if it is not.
    """
    mine = (parameter if value is None else value).detach()
    heard = comm.allgather((getattr(parameter, "shard", None), mine))
    places = [_placed(mine, place, part) for place, part in heard]
    shape = list(mine.shape)
    if place := heard[0][0]:
        shape[place.dim] = place.size
    found = mine.new_zeros(shape)
    for dim, index, part in places:
        found.index_copy_(dim, index, part)
    for rank, (dim, index, part) in enumerate(places):
        if not torch.allclose(found.index_select(dim, index), part, 0, 0, equal_nan=True):  # NaN is the same as NaN
            raise ValueError(f"rank {rank} of {comm.size} holds other values than a rank that has the same elements")
    return found


def _placed(mine: Tensor, place: Shard | None, part: Tensor) -> tuple[int, Tensor, Tensor]:
    """Dimension, indices in the whole, and values, of what a rank holds, without its padding."""
    if place is None:
        return 0, torch.arange(len(mine)), part
    index = torch.tensor(place.own)
    return place.dim, index[index != PADDING], part.index_select(place.dim, (index != PADDING).nonzero().flatten())
