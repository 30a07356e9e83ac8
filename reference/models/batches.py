"""Batches: which samples step `step` sees, and which of them are this rank's.

Idea      A pure function of (seed, step, rank), so that nobody has to send an index, a run can go on at any step, and
          any number of ranks sees the same global batch. In every epoch each sample comes once, in a new order.
Exact     The last batch of an epoch is smaller if `size` does not divide the samples; the ranks' shares differ by a
          sample if their number does not divide the batch, and some are empty if it is too small. Nothing is dropped
          and nothing repeated to make it even, as samplers often do. So a mean over ranks must be weighted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .data import Data
from .seeds import generator


def batch_indices(samples: int, size: int, step: int, seed: int = 0) -> Tensor:
    """The samples, int64 [size or fewer], in the global batch of step 0, 1, ... Raises ValueError unless size >= 1."""
    if size < 1 or samples < 1:
        raise ValueError(f"a batch needs at least 1 sample, got {size=} of {samples=}")
    epoch, place = divmod(step, -(-samples // size))
    order = torch.randperm(samples, generator=generator(seed, epoch))
    return order[place * size : (place + 1) * size]


def share(items, rank: int, ranks: int):
    """The contiguous part of a tensor or list that is this rank's: the first len % ranks ranks have one more.

    Raises ValueError unless 0 <= rank < ranks.
    """
    if not 0 <= rank < ranks:
        raise ValueError(f"parts are numbered 0 to {ranks - 1}, got {rank=}")
    least, more = divmod(len(items), ranks)
    first = rank * least + min(rank, more)
    return items[first : first + least + (rank < more)]


def batch(data: Data, size: int, step: int, seed: int = 0, rank: int = 0, ranks: int = 1) -> Data:
    """This rank's share of the global batch of `size` samples in step `step`; the whole batch by default."""
    mine = share(batch_indices(len(data.y), size, step, seed), rank, ranks)
    return Data(data.x[mine], data.y[mine])
