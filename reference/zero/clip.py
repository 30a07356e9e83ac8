"""Clipping by the global norm: every rank knows a shard of the gradient, and the norm is that of all of it.

Idea      The square of the norm is a sum over elements, and each element has one owner. So each rank adds up the
          squares of its shards, one all-reduce adds up the ranks', and all multiply by the same factor.
Before    clip_grad_norm_ on a rank's own shards: a smaller norm, another one on every rank. Ranks then shrink their
          shards by different factors, and the step has another direction; no error tells of it.
Sends     8 bytes a rank, in an all-reduce.
Exact     The padding of a shard is zero; frozen parameters have no gradient. The factor is that of torch's
          clip_grad_norm_: at most 1, and limit / (norm + 1e-6) else.
Source    Pascanu et al., "On the difficulty of training recurrent neural networks" (2013), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import mpi


def global_norm(comm, shards: Sequence[Tensor]) -> float:
    """The 2-norm of all elements of the shards of all ranks. Collective."""
    norms = [torch.linalg.vector_norm(shard, dtype=torch.promote_types(shard.dtype, torch.float32)) for shard in shards]
    squares = sum(norm.double().square() for norm in norms)  # a norm in float64 takes ten times as long
    total = torch.as_tensor(squares, dtype=torch.float64).reshape(1)
    comm.Allreduce(mpi.IN_PLACE, total)
    return total.sqrt().item()


def clip_global_norm(comm, shards: Sequence[Tensor], limit: float) -> float:
    """Scale the gradient of which the ranks have these shards, in place, to a norm of at most `limit`.

    Returns the norm that it had. Collective. NaN and infinity spoil all of it, as with torch's clip_grad_norm_.
    """
    norm = global_norm(comm, shards)
    factor = min(limit / (norm + 1e-6), 1.0) if norm == norm else norm  # min() would drop NaN
    for shard in shards:
        shard.mul_(factor)
    return norm
