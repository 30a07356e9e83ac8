"""Global norm on a mesh: every element of the gradient counts once, whatever ranks hold copies of it.

Idea      The square of the norm is a sum over the elements of the serial model's gradient. On a mesh a rank holds
          some of them, and other ranks hold copies of some of those: a norm's gain is on all ranks of a
          tensor-parallel group, a tied embedding on the first and the last stage, keys and values of grouped heads on
          several ranks. So an element is counted by one holder: the first on its axis. What has been averaged over
          dp and cp is the same there and is counted in one copy; shards of ZeRO are added over all axes.
Before    clip_grad_norm_ on each rank: other norms, other factors, copies that drift apart; and no error tells of it.
          Squares added over all ranks: copies count several times, and the step is shorter than the serial one.
Sends     8 bytes a rank, in an all-gather: all add in one order, so that all have the same bits.
Source    Pascanu et al., "On the difficulty of training recurrent neural networks" (2013), section 3.2. Megatron-Core
          leaves out parameters that are tied or are copies of other tensor-parallel ranks' in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from ..tensor_parallel.shards import PADDING


def first_held(tp, named: Mapping[str, Tensor], elsewhere: Collection[str] = ()) -> dict[str, Tensor]:
    """By name, 1 where this rank is the first holder of an element, else 0: one number for all, or one for each place
    along the dimension that is cut, as a tensor that can be multiplied with the parameter.

    tp: the tensor-parallel group, whose ranks pass the same names. elsewhere: the names that another stage counts.
    Collective over the group.
    """
    places = {name: getattr(parameter, "shard", None) for name, parameter in named.items()}
    heard = tp.allgather({name: place and place.own for name, place in places.items()})
    masks = {}
    for name, parameter in named.items():
        place, before = places[name], [theirs[name] for theirs in heard[: tp.rank]]
        if name in elsewhere or place is None:
            masks[name] = parameter.new_tensor(name not in elsewhere and tp.rank == 0)
        else:
            mask = parameter.detach().new_zeros([n if d == place.dim else 1 for d, n in enumerate(parameter.shape)])
            mask.index_fill_(place.dim, torch.tensor(_new(place.own, before), dtype=torch.long), 1)
            masks[name] = in_short(mask)
    return masks


def in_short(mask: Tensor) -> Tensor:
    """The mask; as one number, if it says the same of all elements."""
    first = mask.reshape(-1)[:1]
    return first.reshape(()) if len(first) and bool((mask == first).all()) else mask


def _new(own: Sequence[int], before: Iterable[Sequence[int]]) -> list[int]:
    """The places in `own` of what no rank before has, without padding."""
    seen = set().union(*before)
    return [i for i, element in enumerate(own) if element != PADDING and element not in seen]


def global_norm(comm, gradients: Sequence[Tensor], masks: Sequence[Tensor]) -> float:
    """The 2-norm of what the ranks of `comm` hold together; masks: 1 for what this rank counts. Collective."""
    squares = (_norm_of_counted(g, mask) ** 2 for g, mask in zip(gradients, masks, strict=True))
    return math.sqrt(math.fsum(comm.allgather(math.fsum(squares))))


def _norm_of_counted(gradient: Tensor, mask: Tensor) -> float:
    """Of one parameter. In its own type, as torch's: in float64 this takes ten times as long."""
    if mask.numel() == 1 and not mask:
        return 0.0
    counted = gradient if mask.numel() == 1 else gradient * mask
    return float(torch.linalg.vector_norm(counted, dtype=torch.promote_types(gradient.dtype, torch.float32)))


def clip_global_norm(comm, gradients: Sequence[Tensor], masks: Sequence[Tensor], limit: float) -> float:
    """Scale gradients in place so that `global_norm` is at most `limit`; the norm that there was. Collective.

    NaN and infinity spoil all of it, as with torch's clip_grad_norm_, whose factor this is.
    """
    norm = global_norm(comm, gradients, masks)
    factor = min(limit / (norm + 1e-6), 1.0) if norm == norm else norm  # min() would drop NaN
    for gradient in gradients:
        gradient.mul_(factor)
    return norm
