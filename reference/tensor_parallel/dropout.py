"""Dropout in a group of ranks: the same mask where all hold the same values, different ones where each holds its own.

Idea      After the sum of a row-parallel layer all ranks hold the same x. If they drop different elements of it, they
          train different models from there on, and no error tells of it. Inside the layer each holds other heads or
          other tokens: if they dropped the same places of each, the masks would be correlated. So a rank has two
          generators: `common`, the same on all ranks of the group, and `own`, whose seed has the rank in it.
Exact     With `exact` a rank draws the mask of the whole tensor from `common`, and uses its part: then every degree
          drops the same elements, and equals the serial program that draws from the same seed. It costs P times as
          many random numbers, and memory for the mask of the whole: for tests, and to find mistakes.
Left out  Recomputation in the backward pass, which must draw the same masks again: save `state()` and restore it.
Source    Shoeybi et al., "Megatron-LM" (2019), section 3, whose code keeps a second random state, "model-parallel-rng".
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..models import generator


class Masks:
    """Where the dropout of one group of ranks comes from.

    seed: the same on all ranks of the group, and another one in other groups. exact: see above.
    """

    def __init__(self, comm, seed: int = 0, exact: bool = False):
        self.exact, self.common = exact, torch.Generator().manual_seed(seed)
        self.own = generator(seed, 1 + comm.rank)

    def dropout(self, x: Tensor, p: float, dim: int | None = None, own: Sequence[int] = (), size: int = 0) -> Tensor:
        """x with each element zero with probability p, and else 1 / (1 - p) times as large.

        dim None: x is the same on all ranks. Else this rank holds the indices `own` along `dim`, of `size` in all.
        """
        if not p:
            return x
        if dim is None:
            return self.masked(x, p, self.common)
        if not self.exact:
            return self.masked(x, p, self.own)
        shape = [size if d == dim else n for d, n in enumerate(x.shape)]
        mask = x.new_empty(shape).bernoulli_(1 - p, generator=self.common)
        index = torch.tensor(own).clamp(min=0)  # padding is zero, whatever its mask
        return x * mask.index_select(dim, index) / (1 - p)

    @staticmethod
    def masked(x: Tensor, p: float, source: torch.Generator) -> Tensor:
        """x under a new mask."""
        return x * torch.empty_like(x).bernoulli_(1 - p, generator=source) / (1 - p)

    def state(self) -> tuple[Tensor, Tensor]:
        """What `restore` needs to draw the same masks again."""
        return self.common.get_state(), self.own.get_state()

    def restore(self, state: tuple[Tensor, Tensor]) -> None:
        """Go back to a `state`."""
        self.common.set_state(state[0])
        self.own.set_state(state[1])
