"""Replicate: every rank begins with the same model, and can check that it still has it.

Idea      Ranks that start from the same weights and add the same average gradient stay the same for ever, to the last
          bit. Nothing in the loop corrects a difference in the start: it stays, and no error tells of it.
Before    each rank draws its own weights; the averaged gradient is that of no model at all
After     rank 0's parameters and buffers go to all, once; then P copies of one model learn from P parts of a batch
Sends     broadcast, check: the n bytes of the model as one message, by scatter-allgather: 2 (P - 1) / P n a rank, 2 n
          for the root; and the description of the model, some tens of bytes a tensor.
Price     A copy of the model while it travels. P copies of weights, gradients and optimizer state remain, which is what
          ZeRO is for.
Left out  Optimizer state: it begins empty, and follows from equal weights and gradients. Random states: dropout must
          differ between ranks, or all drop the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import collectives


class Diverged(ValueError):
    """Two ranks hold different bits in what should be one model."""


def state(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Name and data of every parameter and buffer, each once, also where two names share one (tied)."""
    yield from ((name, parameter.detach()) for name, parameter in module.named_parameters())
    yield from module.named_buffers()


def agree(comm, what: str, mine: Any) -> None:
    """Raise ValueError on every rank unless all gave the same; the message shows the first place that differs.

    mine: a list of things that can be compared and pickled. Sends rank 0's list to all.
    """
    expected = comm.bcast(mine, root=0)
    place = next((i for i, pair in enumerate(zip(mine, expected)) if pair[0] != pair[1]), min(len(mine), len(expected)))
    found = comm.allgather(None if mine == expected else mine[place : place + 1])
    differ = [rank for rank, other in enumerate(found) if other is not None]
    if differ:
        here = expected[place : place + 1] if differ[0] == comm.rank else None
        here = comm.bcast(here, root=differ[0])
        raise ValueError(
            f"{what} must be the same on all ranks: rank 0 has {_shown(here)} where rank {differ[0]} has "
            f"{_shown(found[differ[0]])}; different ranks: {differ}"
        )


def _shown(entry: Sequence) -> str:
    return " ".join(map(str, entry[0])) if entry else "nothing"


def structure(module: nn.Module) -> list[tuple]:
    """What must be alike before anything can be summed: names, shapes, types, and which tensors are trained."""
    return [(name, tuple(data.shape), str(data.dtype)) for name, data in state(module)] + [
        (name, "trained" if parameter.requires_grad else "frozen") for name, parameter in module.named_parameters()
    ]


def broadcast(comm, module: nn.Module, root: int = 0) -> None:
    """Give every rank the root's parameters and buffers, in place.

    Raises ValueError on every rank if the modules are not of one structure: names, shapes, types, frozen or not.
    """
    agree(comm, "the modules", structure(module))
    tensors = [data for _, data in state(module)]
    for tensor, theirs in zip(tensors, _roots(comm, tensors, root)):
        tensor.copy_(theirs)


def check(comm, module: nn.Module) -> None:
    """Raise Diverged on every rank unless all hold the same bits; it names the first tensor that differs, and where.

    Exact: everything is compared with rank 0's bytes, so NaN equals the same NaN and 0.0 differs from -0.0.
    """
    agree(comm, "the modules", structure(module))
    names, tensors = zip(*state(module)) if list(state(module)) else ((), ())
    pairs = zip(tensors, _roots(comm, tensors, 0))
    found = comm.allgather(
        [i for i, (mine, theirs) in enumerate(pairs) if not torch.equal(_bytes(mine), _bytes(theirs))]
    )
    if any(found):
        first = min(i for own in found for i in own)
        ranks = [rank for rank, own in enumerate(found) if first in own]
        raise Diverged(
            f"{names[first]} of shape {tuple(tensors[first].shape)} is not the same on all ranks: rank(s) {ranks} hold "
            f"something else than rank 0; {len(set().union(*found))} of {len(names)} tensors differ. Was the model "
            f"broadcast at the start, and does every rank apply the same gradient?"
        )


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _roots(comm, tensors: Sequence[Tensor], root: int) -> Iterator[Tensor]:
    """The root's tensors, all together in one message."""
    if not tensors:
        return
    packed = torch.cat([_bytes(tensor) for tensor in tensors])
    collectives.broadcast(comm, packed, root, algorithm="scatter-allgather")
    for tensor, part in zip(tensors, packed.split([tensor.nbytes for tensor in tensors])):
        yield part.clone().view(tensor.dtype).view(tensor.shape)
