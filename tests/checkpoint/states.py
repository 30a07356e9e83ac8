"""A state of four tensors in several layouts, to be saved by some ranks and loaded by others."""

from __future__ import annotations

from math import prod

import torch

from reference.checkpoint import Portion, at, everything, flat_range
from reference.checkpoint.boxes import Box

SHAPES = {"w": (8, 6), "b": (6,), "table": (5, 2, 3), "seen": ()}
TYPES = {"w": torch.float32, "b": torch.bfloat16, "table": torch.float64, "seen": torch.int64}


def whole(step: int = 0) -> dict[str, torch.Tensor]:
    """All of the state at a step: numbers that tell elements and steps apart, but for bfloat16's rounding."""
    return {
        name: (torch.arange(prod(shape)) + 100 * step).reshape(shape).to(TYPES[name]) for name, shape in SHAPES.items()
    }


def span(rank: int, P: int, n: int) -> tuple[int, int]:
    """First and last of a rank's part of n, which may be unequal or empty."""
    return n * rank // P, n * (rank + 1) // P


def rows(tensor, rank, P):
    first, after = span(rank, P, tensor.shape[0])
    return at(tensor[first:after].clone(), tensor.shape, (first,) + (0,) * (tensor.dim() - 1))


def columns(tensor, rank, P):
    first, after = span(rank, P, tensor.shape[-1])
    part = tensor[..., first:after].clone()
    return at(part, tensor.shape, (0,) * (tensor.dim() - 1) + (first,))


def flat(tensor, rank, P):
    first, after = span(rank, P, tensor.numel())
    return flat_range(tensor.reshape(-1)[first:after].clone(), tensor.shape, first)


def strided(tensor, rank, P):
    """Every P-th row: several boxes, as heads are dealt out to tensor-parallel ranks; a view that is not contiguous."""
    mine = tensor.clone().movedim(0, -1).contiguous().movedim(-1, 0)
    boxes = [Box((i,) + (0,) * (tensor.dim() - 1), (1, *tensor.shape[1:])) for i in range(rank, tensor.shape[0], P)]
    return Portion(tuple(tensor.shape), [(box, mine[box.slices]) for box in boxes])


def replicated(tensor, rank, P):
    return everything(tensor.clone())


def stages(tensor, rank, P):
    """All of it on one rank."""
    return everything(tensor.clone()) if tensor.shape[0] % P == rank else Portion(tuple(tensor.shape), [])


LAYOUTS = {
    "rows": rows,
    "columns": columns,
    "flat": flat,
    "strided": strided,
    "replicated": replicated,
    "stages": stages,
}


def portions(layout: str, rank: int, P: int, step: int = 0, empty: bool = False) -> dict[str, Portion]:
    """What a rank holds; a number is on all ranks. empty: other values, to be loaded over."""
    found = {}
    for name, tensor in whole(step).items():
        tensor = torch.full_like(tensor, -1) if empty else tensor
        found[name] = LAYOUTS[layout](tensor, rank, P) if tensor.dim() else everything(tensor)
    return found


def right(found: dict[str, Portion], step: int = 0) -> bool:
    """Whether all values are those of the state."""
    every = whole(step)
    return all(torch.equal(values, every[name][box.slices]) for name in found for box, values in found[name].parts)
