"""Average gradients: the four lines that make P copies of a model learn as one.

Idea      The gradient of the mean loss over a global batch is the sum of the gradients of all samples, divided by the
          number of all samples. A rank sums over its own; an all-reduce sums over the ranks; all divide.

              g = (g_1 + ... + g_P) / (n_1 + ... + n_P),     g_r the gradient of the SUM over the n_r samples of rank r

          It is not the mean of the ranks' means, (g_1 / n_1 + ... + g_P / n_P) / P. It is the same only if all n_r are:
          the last batch of an epoch, a filter, or sentences of different length make them unequal, and then a token on
          a rank that has few counts more than one on a rank that has many.
Before    P gradients, each of a part of the batch
After     P times the same gradient, of the whole batch, in the same bits
Sends     All gradients of one type in one all-reduce of n bytes: 2 (P - 1) / P n a rank (ring); and 8 bytes, the count.
Left out  Overlap with the backward pass, and buckets: replica.py. Accumulation: accumulation.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from .. import mpi
from ..collectives import allreduce_together


def average_gradients(comm, parameters: Iterable[Tensor], count: float, **how) -> float:
    """Turn the gradients of the ranks' local sums into the gradient of the global mean, in place; return its count.

    parameters: of one model, in the same order on all ranks. `.grad` of each holds the gradient of the SUM of the loss
    over this rank's samples (or tokens), `count` how many these are: 0 or more, not the same on all ranks.
    Frozen parameters (requires_grad False) are left alone, tied ones come once; one that this rank has not used
    (`.grad` is None) counts as zeros. how: algorithm, machine, ... as for `collectives.allreduce`.

    Raises ValueError on every rank if a count is below 0 or not finite, or if all are 0.
    """
    total = global_count(comm, count)
    gradients = trained_gradients(parameters)
    for alike in by_type(gradients):
        allreduce_together(comm, alike, **how)
    for gradient in gradients:
        gradient.div_(total)
    return total


def trained_gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The gradient of each parameter that is trained, each once; zeros where there is none."""
    trained = {id(parameter): parameter for parameter in parameters if parameter.requires_grad}.values()
    for parameter in trained:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    return [parameter.grad for parameter in trained]


def by_type(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """The tensors sorted into one list for each dtype: only what is alike can share a message."""
    kinds: dict[torch.dtype, list[Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault(tensor.dtype, []).append(tensor)
    return list(kinds.values())


# The count: 8 bytes, in which a rank can also say that its own is invalid -------------------------------


def start_count(comm, count: float) -> tuple[Tensor, mpi.Request]:
    """Begin to sum the counts over the ranks; what has come in the end is for `finished_count`.

    An invalid count travels as NaN, so that the sum is NaN on every rank and no rank is left alone with the error.
    """
    sound = math.isfinite(count) and count >= 0
    total = torch.tensor([float(count) if sound else math.nan], dtype=torch.float64)
    return total, comm.Iallreduce(mpi.IN_PLACE, total)


def finished_count(comm, total: Tensor, count: float) -> float:
    """The global count. Raises ValueError on every rank unless it is above 0."""
    found = total.item()
    if found > 0:
        return found
    counts = comm.allgather(count)  # every rank comes here, or none
    raise ValueError(
        f"the ranks gave {counts} as their numbers of samples: each must be 0 or more, and one of them more than 0; "
        f"there is no mean over nothing"
    )


def global_count(comm, count: float) -> float:
    """The sum of the counts over the ranks, which may be 0 on some but not on all of them."""
    total, request = start_count(comm, count)
    request.Wait()
    return finished_count(comm, total, count)
