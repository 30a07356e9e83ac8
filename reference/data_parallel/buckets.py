"""Buckets: gradients that travel together, because a message costs alpha however small it is.

Idea      Large buckets pay alpha seldom and use the bandwidth; small ones leave early and overlap with more of the
          backward pass. A limit between the two is a compromise: it is 25 MiB by default in PyTorch, and a good one for
          your network can be computed (step_time.py).
          The backward pass is ready with the last parameters first, so buckets are filled from the end.
          `assign_buckets` is a pure function: sizes in, lists of parameters out. It can be printed, tested and timed
          without a model, and another order (the one in which gradients really became ready) is one argument.
          A bucket is one flat tensor, and the gradients of its parameters are views of it (`adopt` copies them in).
          Nothing is copied out after the all-reduce: the optimizer reads what has been received.
Source    Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), section 3.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn


def assign_buckets(
    nbytes: Sequence[int],
    limit: float,
    first_limit: float | None = None,
    order: Sequence[int] | None = None,
    kinds: Sequence[Hashable] | None = None,
) -> list[list[int]]:
    """Cut tensors 0, 1, ... of so many bytes into buckets of at most `limit` bytes, in the order in which they start.

    order        in which tensors become ready; from the last to the first unless given
    first_limit  of the first bucket of each kind: a small one leaves early
    kinds        of the tensors, such as their types: only tensors of one kind share a bucket

    A tensor that is larger than its bucket's limit is alone in it. A bucket is complete with its last tensor, and the
    buckets are listed as they become complete. (DDP closes a bucket when it has reached the limit, so that its buckets
    may be larger than that.)
    Raises ValueError for limits that are not above 0, and for an order that does not name each tensor once.
    """
    order = range(len(nbytes))[::-1] if order is None else order
    kinds = [None] * len(nbytes) if kinds is None else kinds
    first_limit = limit if first_limit is None else first_limit
    if not (limit > 0 and first_limit > 0):
        raise ValueError(
            f"a bucket must hold more than 0 bytes: got a limit of {limit}, and {first_limit} for the first"
        )
    if sorted(order) != list(range(len(nbytes))):
        raise ValueError(f"an order of {len(nbytes)} tensors names each of 0 ... {len(nbytes) - 1} once, got {order}")
    full: list[list[int]] = []
    filling: dict[Hashable, list[int]] = {}  # the bucket of each kind that is not full yet
    for tensor in order:
        bucket = filling.setdefault(kinds[tensor], [])
        most = limit if any(kinds[other[0]] == kinds[tensor] for other in full) else first_limit
        if bucket and sum(nbytes[other] for other in bucket) + nbytes[tensor] > most:
            full.append(bucket)
            bucket = filling[kinds[tensor]] = []
        bucket.append(tensor)
    place = {tensor: position for position, tensor in enumerate(order)}
    return sorted([*full, *filling.values()], key=lambda bucket: place[bucket[-1]])


class Bucket(NamedTuple):
    """`flat` [n] holds the gradients of some parameters one after the other; `views[i]` is that of `parameters[i]`."""

    parameters: list[nn.Parameter]
    flat: Tensor
    views: list[Tensor]


def allocate(parameters: Sequence[nn.Parameter], buckets: Sequence[Sequence[int]]) -> list[Bucket]:
    """The memory for buckets of these parameters, as `assign_buckets` lists them: zeros."""
    return [_bucket([parameters[i] for i in bucket]) for bucket in buckets]


def _bucket(parameters: list[nn.Parameter]) -> Bucket:
    flat = torch.zeros(sum(p.numel() for p in parameters), dtype=parameters[0].dtype, device=parameters[0].device)
    parts = flat.split([p.numel() for p in parameters])
    return Bucket(parameters, flat, [part.view(p.shape) for part, p in zip(parts, parameters)])


def adopt(parameter: nn.Parameter, view: Tensor) -> None:
    """Make `view` the parameter's gradient, with the value that this has now (zeros if there is none).

    Autograd makes a gradient of its own if it finds none, as after zero_grad(set_to_none=True): it is copied into the
    view once, and then added to in place.
    """
    if parameter.grad is view:
        return
    if parameter.grad is None:
        view.zero_()
    else:
        view.copy_(parameter.grad)
    parameter.grad = view
