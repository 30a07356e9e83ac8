"""Dynamic loss scaling on a mesh: one scale for all ranks, and a step that all of them take or none.

Idea      In 16 bits small gradients become 0 and large ones infinite. So the loss is multiplied by a scale before the
          backward pass and gradients are divided by it before the step. If one overflows, the step is left out and the
          scale halved; after so many good steps it is doubled. On a mesh an overflow is seen by the rank that holds
          this part of the gradient, and by no other: another stage, another part of the layer. So all ranks of the
          mesh agree before anybody steps.
Before    each rank skips for itself: the parts of one model take different numbers of steps, and no error tells of it
After     one all-reduce of a number; all step or none, and all have the same scale
Sends     One 8-byte all-reduce (MAX) a step, over all axes.
Exact     Scales and skipped steps are those of torch.amp.GradScaler on one device that sees all gradients.
Source    Micikevicius et al., "Mixed Precision Training" (2018), section 3.2; torch.amp.GradScaler (PyTorch 2.13),
          whose options and defaults these are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .. import mpi


class MeshScaler:
    """A loss scale that the ranks of `comm`, all of the mesh, have in common.

    scale     now; multiply the loss by it
    growth    the factor after `interval` steps without an overflow; backoff: that after an overflow
    Raises ValueError unless scale > 0, growth > 1, 0 < backoff < 1 and interval >= 1.
    """

    def __init__(self, comm, scale: float = 2.0**16, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000):
        if not (scale > 0 and growth > 1 and 0 < backoff < 1 and interval >= 1):
            raise ValueError(
                f"a scale is above 0, grows by more than 1, backs off by less, after 1 step or more: got {scale=}, "
                f"{growth=}, {backoff=}, {interval=}"
            )
        self.comm, self.scale, self.growth, self.backoff, self.interval = comm, scale, growth, backoff, interval
        self.good_steps = 0

    def unscale(self, gradients: Sequence[Tensor]) -> bool:
        """Divide gradients by the scale, in place, and set the next one; whether the step may be taken. Collective.

        Call it once a step, after gradients were averaged and before they are clipped.
        """
        bad = 0.0
        for gradient in gradients:
            bad = max(bad, float(not torch.isfinite(gradient).all()))
            gradient.div_(self.scale)
        anywhere = np.empty(1)
        self.comm.Allreduce(np.array([bad]), anywhere, op=mpi.MAX)
        if anywhere[0]:
            self.scale, self.good_steps = self.scale * self.backoff, 0
            return False
        self.good_steps += 1
        if self.good_steps == self.interval:
            self.scale, self.good_steps = self.scale * self.growth, 0
        return True
