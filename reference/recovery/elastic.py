"""Elastic training: how many copies of the model remain, with which batch and learning rate, and on which samples.

Idea      A copy of the model takes N ranks (tensor x stages x context). If a rank dies, the N - 1 others of its copy
          have nothing to do: whole copies remain, floor(alive / N) of them, and what is left over waits as spare ranks.

              2,048 ranks, N = 128: 16 copies.    One dies: floor(2047 / 128) = 15 copies on 1,920 ranks, 127 spare
          Two rules for the batch. Keep the global batch: fewer copies take more micro-batches each, and nothing else
          changes, learning rate, schedule and losses included. Keep each copy's share: the global batch shrinks with
          the copies, a step takes as long as before, and the learning rate follows by the rule of the optimizer
          (`data_parallel/learning_rate.py`).
Source    The rules for the learning rate: Goyal et al. (2017); Malladi et al. (2022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..data_parallel.learning_rate import accumulation, linear
from .spare import copies_that_fit


class Size(NamedTuple):
    """How a training goes on.

    copies         of the model, each on N ranks
    spares         ranks that are left over and wait
    batch          samples of all copies together
    micro_batches  in which a copy does its share of them
    rate           the learning rate
    """

    copies: int
    spares: int
    batch: int
    micro_batches: int
    rate: float


def resized(
    alive: int,
    N: int,
    copies: int,
    batch: int,
    rate: float,
    most: int,
    keep: str = "batch",
    rule: Callable[[float, float], float] = linear,
) -> Size:
    """How `alive` ranks go on with what `copies` copies of N ranks did on global batches of `batch` samples.

    most  samples that fit into one micro-batch of a copy
    keep  "batch": the same global batch and learning rate. "share": the same samples a copy, and the rate by `rule`
    Raises ValueError if no copy is left, and for another `keep`.
    """
    left = copies_that_fit(alive, N)
    if left < 1:
        raise ValueError(f"{alive} ranks are left, and a copy of the model needs {N}: wait for spares, or restart")
    if keep not in ("batch", "share"):
        raise ValueError(f"keep is 'batch' or 'share', got {keep!r}")
    left = min(left, copies) if keep == "share" else left
    new = batch if keep == "batch" else max(1, round(batch * left / copies))
    return Size(left, alive - left * N, new, accumulation(new, left, most), rule(rate, new / batch))
