"""Gradient accumulation: a batch that does not fit into memory, in K parts, with one synchronisation.

Idea      The gradient of a sum is the sum of the gradients, so the parts of a batch can be computed one after the
          other. Gradients and counts are added up on each rank; only the last part's backward pass communicates.
Before    one batch of B samples a rank: activations of B, one all-reduce
After     K micro-batches of B / K: activations of B / K, one all-reduce. The global batch is K B_micro P samples
Sends     What one step sends, whatever K is: one all-reduce of the gradient. Messages do not become larger,
          as is often said; there are fewer of them for each sample. A loop that synchronises after each
          micro-batch sends K times as much (in DDP: without no_sync around the FORWARD pass).
Exact     Divide once, by all samples (or tokens) of all micro-batches of all ranks. What one sees instead:
              the sum of the micro-batches' means: of equal parts K times too large
              their mean, loss / K: right only if all have the same count; tokens often do not
          `weights` shows what each rule makes one sample count.
          Sums of K <= 1,000 gradients in float32 are off by less than 5e-6 of their size (ten draws, the terms scatter
          by up to 100 times their mean): nothing to be gained. An accumulator of 16 bits fails: once it is 2^8 to 2^9
          (bfloat16) or 2^11 to 2^12 (float16) times as large as what is added, nothing is added any more. Kahan's
          summation repairs that for K of this size, with a second 16-bit number for each element: the memory of a
          float32 accumulator, which is better, because terms are then not rounded to 16 bits before they are added.
Left out  Pipelines, which have micro-batches anyway; parameters of 16 bits, for which `.grad` is of 16 bits, too: they
          want accumulators of their own (chapter 4).
Source    Kahan, "Further remarks on reducing truncation errors" (1965).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..models import Data, share
from .replica import Replica


def micro_batches(data: Data, K: int) -> list[Data]:
    """The samples in K parts. Where K does not divide them, the first parts have one more; some may be empty.

    Raises ValueError unless K >= 1.
    """
    if K < 1:
        raise ValueError(f"a batch cannot be cut into {K} micro-batches: give 1 or more")
    return [Data(*(share(tensor, k, K) for tensor in data)) for k in range(K)]


def accumulate(
    replica: Replica, loss_sum: Callable[[nn.Module, Data], tuple[Tensor, float]], data: Data, K: int
) -> tuple[float, float]:
    """As replica.backward on all of this rank's data, K micro-batches after each other.

    loss_sum(module, data) gives the SUM of the loss, and its count. Then each .grad is the gradient of the mean over
    all ranks, whatever the parts' sizes. Returns the sum of the loss over this rank's data, and the count of all
    ranks. K may differ between ranks; each must come here.
    """
    summed, seen = 0.0, 0.0
    for k, part in enumerate(micro_batches(data, K)):
        total, count = loss_sum(replica.module, part)
        seen = replica.backward(total, count, sync=k == K - 1) or 0.0
        summed += total.item()
    return summed, seen


# What one sample counts under each rule -------------------------------------------------------------------------------

RULES: dict[str, Callable[[Sequence[int]], list[float]]] = {
    "sum of sums / all samples": lambda n: [1 / sum(n)] * len(n),
    "sum of sums": lambda n: [1.0] * len(n),
    "sum of means": lambda n: [1 / n_k for n_k in n],
    "mean of means": lambda n: [1 / (len(n) * n_k) for n_k in n],
}


def weights(rule: str, counts: Sequence[int]) -> list[float]:
    """What the gradient of one sample of each micro-batch is multiplied by; counts: samples in each (n_k > 0)."""
    return RULES[rule](counts)


# Accumulators ---------------------------------------------------------------------------------------------------------


class Accumulator:
    """A running sum of tensors like one, kept in `dtype`; with `compensated`, by Kahan's summation."""

    def __init__(self, like: Tensor, dtype: torch.dtype = torch.float32, compensated: bool = False):
        self.total = torch.zeros_like(like, dtype=dtype)
        self.lost = torch.zeros_like(self.total) if compensated else None  # what additions have rounded off, negative

    @property
    def nbytes(self) -> int:
        """Bytes that it occupies."""
        return self.total.nbytes + (0 if self.lost is None else self.lost.nbytes)

    def add(self, x: Tensor) -> None:
        """Add x [like the others], rounded to this type."""
        x = x.to(self.total.dtype)
        if self.lost is None:
            self.total += x
            return
        y = x - self.lost
        total = self.total + y
        self.lost = (total - self.total) - y  # what came in, less what should have
        self.total = total


def relative_error(K: int, dtype: torch.dtype, compensated: bool = False, noise: float = 0.1, seed: int = 0) -> float:
    """By how much a sum of K gradients is off, relative to it: the mean over 2,000 elements.

    Each element's K values scatter by `noise` (relative) around one of its own. With little noise gradients agree, and
    in 16 bits the sum stops growing; with much terms of both signs cancel in part, and their rounding weighs more.
    """
    draw = torch.Generator().manual_seed(seed)
    common = torch.rand(2000, generator=draw, dtype=torch.float64) + 1e-3
    exact, found = torch.zeros_like(common), Accumulator(common, dtype, compensated)
    for _ in range(K):
        x = (common * (1 + noise * torch.randn(2000, generator=draw, dtype=torch.float64))).float()
        exact += x
        found.add(x)
    return ((found.total.double() - exact) / exact).abs().mean().item()
