"""The optimizer of the serial program, with pieces of shards in the places of the parameters.

Idea      Make the optimizer as one device does, from the whole parameters and their names; then let each parameter's
          place be taken by this rank's piece of it, which may be empty. So groups with options of their own, chosen by
          name or by shape, are those of the serial program on every rank, whatever the cut has made of the shapes.
Exact     Only for an optimizer that changes every element by its own history. `not_element_wise` tries that, on small
          tensors: stepped whole, and stepped in parts. SGD with momentum, Adam and their like pass. Adafactor (a mean
          over rows), Muon (a matrix), LAMB (a norm), L-BFGS (inner products over everything) do not.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..agreement import agree
from .group import Group

Named = list[tuple[str, nn.Parameter]]
MakeOptimizer = Callable[[Named], Optimizer]


def shard_optimizer(comm, make_optimizer: MakeOptimizer, named: Named, groups: Sequence[Group]) -> Optimizer:
    """The optimizer that make_optimizer(named) makes, for the pieces of these groups. Collective.

    make_optimizer is called more than once: `not_element_wise` calls it with small tensors. What an optimizer keeps
    from the beginning, as Adagrad does, is cut like the parameters.
    Raises ValueError on every rank if that fails, if the optimizer is not element-wise, or not alike on all ranks.
    """
    names = {parameter: name for name, parameter in named}
    try:
        error = not_element_wise(make_optimizer, named)
        optimizer = make_optimizer(named)
        lines = [] if error else list(_described(optimizer, names))
    except Exception as raised:  # what a rank cannot do, all must learn
        error, lines = f"the optimizer cannot be made: {raised}", []
    agree(comm, "the optimizers", lines, error)
    pieces = {
        parameter: (piece, group.sharding.piece(group.comm.rank, i))
        for group in groups
        for i, (parameter, piece) in enumerate(zip(group.parameters, group.pieces))
    }
    exchange(optimizer, pieces)
    return optimizer


def exchange(optimizer: Optimizer, pieces: dict[nn.Parameter, tuple[nn.Parameter, slice]]) -> None:
    """Let each parameter's place be taken by a piece, which has that slice of its flattened elements."""
    for group in optimizer.param_groups:
        group["params"] = [pieces[parameter][0] for parameter in group["params"]]
    for parameter in [parameter for parameter in pieces if parameter in optimizer.state]:
        piece, part = pieces[parameter]
        optimizer.state[piece] = {
            key: cut(key, value, parameter.shape, piece.shape, part)
            for key, value in optimizer.state.pop(parameter).items()
        }


def cut(key: str, value: Any, shape: Sequence[int], piece: Sequence[int], part: slice) -> Any:
    """What an optimizer keeps of a parameter, as it is kept of a piece of this shape: that part of what is as large.

    A number of steps belongs to no element; torch's optimizers call it "step".
    """
    if not isinstance(value, Tensor) or tuple(value.shape) != tuple(shape) or key == "step":
        return value
    return value.reshape(-1)[part].clone().view(piece)


def _strangers(optimizer: Optimizer, named: Named) -> str:
    """What is wrong if the optimizer has parameters that are not among the named ones, or nothing."""
    known = {id(parameter) for _, parameter in named}
    strange = sum(id(parameter) not in known for group in optimizer.param_groups for parameter in group["params"])
    return f"the optimizer has {strange} parameters that make_optimizer was not given" if strange else ""


def _described(optimizer: Optimizer, names: dict[nn.Parameter, str]) -> Iterable[str]:
    """What must be alike on all ranks: of each group of parameters its options and the names."""
    for group in optimizer.param_groups:
        options = ", ".join(f"{key}={group[key]}" for key in sorted(set(group) - {"params", "param_names"}))
        yield f"{type(optimizer).__name__} {options} of {', '.join(names[p] for p in group['params'])}"


# Element by element? --------------------------------------------------------------------------------------------------


def not_element_wise(make_optimizer: MakeOptimizer, named: Named) -> str:
    """Why pieces cannot be stepped in the places of whole parameters, or nothing: tried on 3 rows and columns."""
    whole = _small(named)
    serial = make_optimizer(whole)
    if strangers := _strangers(serial, whole):
        return strangers
    told = f"{type(serial).__name__} does not change every element by itself, so a shard cannot be stepped alone"
    try:
        _two_steps(serial, [(parameter, slice(None)) for _, parameter in whole])
        for half in (0, 1):  # each in an optimizer of its own, as on two ranks
            copies = _small(named)
            pieces = {parameter: _half(parameter, half) for _, parameter in copies}
            optimizer = make_optimizer(copies)
            exchange(optimizer, pieces)
            _two_steps(optimizer, pieces.values())
            for (_, parameter), (piece, part) in zip(whole, pieces.values()):
                if not torch.allclose(parameter.detach().reshape(-1)[part], piece.detach(), rtol=1e-9, atol=1e-12):
                    return f"{told}: take one that does, such as SGD, Adam or AdamW"
    except (ValueError, TypeError, RuntimeError, IndexError) as error:
        return f"{told}: {error}"
    return ""


def _small(named: Named) -> Named:
    """Parameters of these names and as many dimensions, each of at most 3: numbers that are always the same."""
    draw = torch.Generator().manual_seed(0)
    shapes = [(name, [min(length, 3) for length in parameter.shape]) for name, parameter in named]
    return [(name, nn.Parameter(torch.randn(shape, generator=draw, dtype=torch.float64))) for name, shape in shapes]


def _half(parameter: nn.Parameter, half: int) -> tuple[nn.Parameter, slice]:
    """The first or second half of a parameter's elements, as a parameter, and which they are."""
    part = [slice(0, parameter.numel() // 2), slice(parameter.numel() // 2, None)][half]
    return nn.Parameter(parameter.detach().reshape(-1)[part].clone()), part


def _two_steps(optimizer: Optimizer, pieces: Iterable[tuple[nn.Parameter, slice]]) -> None:
    """Two steps with gradients that are larger for later elements."""
    for step in (1, 2):
        for piece, part in pieces:
            numbers = torch.arange(piece.numel(), dtype=torch.float64) + (part.start or 0)
            piece.grad = (step * (numbers - 0.4)).view(piece.shape)
        optimizer.step()
