"""A multilayer perceptron: affine maps with a ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from .seeds import seeded


class MLP(nn.Sequential):
    """Layers of these sizes, from inputs x [n, sizes[0]] to logits [n, sizes[-1]]. Initialised as torch does.

    dtype: in which weights are drawn and kept. Drawn in float32 their last bits depend on the processor.
    """

    def __init__(self, sizes: Sequence[int] = (64, 32, 10), seed: int = 0, dtype: torch.dtype = torch.float32):
        with seeded(seed):
            layers = [layer for size in pairwise(sizes) for layer in (nn.Linear(*size, dtype=dtype), nn.ReLU())]
        super().__init__(*layers[:-1])
