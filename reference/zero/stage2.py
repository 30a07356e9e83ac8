"""ZeRO stage 2: gradients are cut, too. Once a bucket's have been summed, a rank keeps its shard of them.

Idea      Stage 1 has memory for all gradients, which the step needs a P-th of. Here a bucket's gradients are packed as
          soon as they are complete, their memory is freed, and a reduce-scatter sends each part to its owner.
Before    weights 4, gradients 4, Adam's state 8 / P bytes a parameter
After     weights 4, gradients 4 / P, Adam's state 8 / P; and a bucket that fills, one that is packed, and `waiting`
          that are under way
Sends     Of K micro-batches, each with its reduce-scatter, and one all-gather: (K + 1) (P - 1) / P Psi. That is what
          stage 1 sends only for K = 1. With accumulate="whole" the first K - 1 send nothing, 2 Psi again; the price is
          whole gradients in between, the memory of stage 1.
Exact     Sums over micro-batches are in the type of the shard: float32, also where weights and their gradients have 16
          bits. Whole gradients are added up in their own type.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.2.
"""

from __future__ import annotations

from torch import Tensor

from ..agreement import agree
from ..data_parallel.buckets import Bucket
from .resident import Resident
from .stage1 import Stage1, without_memory


class Stage2(Stage1):
    """This rank's copy of a module, and its shards of gradients and of the optimizer's state. Used like Stage1.

    accumulate
        what backward(..., sync=False) does: "shards" reduce-scatters each micro-batch's gradients, "whole" keeps them
    """

    def __init__(self, comm, module, make_optimizer, *arguments, accumulate: str = "shards", **options):
        known = accumulate in ("shards", "whole")
        error = "" if known else f"accumulate is 'shards' or 'whole', got {accumulate!r}"
        agree(comm, "the arguments of Stage2", [accumulate], error)
        self.accumulate, self._last = accumulate, True
        super().__init__(comm, module, make_optimizer, *arguments, **options)

    def backward(self, total: Tensor, count: float, sync: bool = True) -> float | None:
        """As Stage1's; without sync, see `accumulate`."""
        self._last = sync
        found = super().backward(total, count, sync or self.accumulate == "shards")
        self._complete = sync  # else the step is still to get more
        return found if sync else None

    def _divide(self, total: float) -> None:
        if self._last:
            super()._divide(total)

    def _bucket(self, group: Resident) -> Bucket:
        return without_memory(group)
