"""Replicate: every rank begins with the same model, and can check that it still has it.

Idea      Ranks that start from the same weights and always add the same averaged gradient stay the same to the last
          bit. No step makes replicas equal that differ at the start, and no error tells of it.
Before    each rank draws weights of its own; the averaged gradient is that of no model at all
After     rank 0's parameters and buffers go to all, once; then P copies of one model learn from P parts of a batch
Sends     broadcast, check: the n bytes of the model as one message, cut up and gathered: 2 (P - 1) / P n for a rank at
          most; and a fingerprint of the model's structure.
Price     A second copy of the model while it travels. And P copies of weights, gradients and optimizer state for as
          long as training lasts: what ZeRO is against.
Left out  Optimizer state: it begins empty and follows from equal gradients. Random states: ranks must draw different
          dropout masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from .. import collectives
from ..agreement import agree


class Diverged(ValueError):
    """Some ranks hold other bits than rank 0 in what should be one model."""


def broadcast_parameters(comm, module: nn.Module, root: int = 0) -> None:
    """Give every rank the root's parameters and buffers, in place.

    Raises ValueError on every rank if the modules differ in more than values: names, shapes, types, what is frozen.
    """
    agree(comm, "the modules", structure(module))
    tensors = [tensor for _, tensor in state(module)]
    for tensor, theirs in zip(tensors, _from_root(comm, tensors, root)):
        tensor.copy_(theirs)


def check_replicas(comm, module: nn.Module) -> None:
    """Raise Diverged on every rank unless all hold the same bits; it names the first tensor that differs, and where.

    Exact, for it compares bytes: NaN equals the same NaN (see `not_finite`), and -0.0 is not 0.0. Raises ValueError as
    `broadcast_parameters` does.
    """
    agree(comm, "the modules", structure(module))
    names, tensors = [name for name, _ in state(module)], [tensor for _, tensor in state(module)]
    pairs = zip(tensors, _from_root(comm, tensors, 0))
    own = [i for i, (mine, theirs) in enumerate(pairs) if not torch.equal(_bytes(mine), _bytes(theirs))]
    found = comm.allgather(own)
    if not any(found):
        return
    first = min(i for differ in found for i in differ)
    ranks = [rank for rank, differ in enumerate(found) if first in differ]
    raise Diverged(
        f"{names[first]} of shape {tuple(tensors[first].shape)} on rank(s) {ranks} is not what rank 0 has, and "
        f"{len(set().union(*found))} of {len(names)} tensors differ somewhere. Was the model broadcast at the start, "
        f"and does every rank apply the same gradient?"
    )


def not_finite(module: nn.Module) -> str:
    """Which parameter or buffer is the first that holds NaN or infinity, and how many of them; "" if none does.

    Ranks that hold the same NaN hold the same bits, and still nothing has been learned.
    """
    for name, tensor in state(module):
        if bad := int((~torch.isfinite(tensor)).sum()):
            return f"{name} of shape {tuple(tensor.shape)} has {bad:,} elements that are NaN or infinite"
    return ""


def state(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Name and value of each parameter and buffer; once, where two names share one (tied)."""
    yield from ((name, parameter.detach()) for name, parameter in module.named_parameters())
    yield from module.named_buffers()


def structure(module: nn.Module) -> list[str]:
    """What must be alike before anything can be summed: names, types, shapes, and what is trained."""
    return [
        f"{name} {str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}" + " trained" * tensor.requires_grad
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]
    ]


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _from_root(comm, tensors: Sequence[Tensor], root: int) -> Iterator[Tensor]:
    """The root's tensors, all of them in one message: bytes, so that types do not matter."""
    if not tensors:
        return
    packed = torch.cat([_bytes(tensor) for tensor in tensors])
    collectives.broadcast(comm, packed, root, algorithm="scatter-allgather")
    for tensor, part in zip(tensors, packed.split([tensor.nbytes for tensor in tensors])):
        yield part.clone().view(tensor.dtype).view(tensor.shape)  # a copy: a part need not be aligned for its type
