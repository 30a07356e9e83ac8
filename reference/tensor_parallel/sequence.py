"""Megatron's sequence parallelism: what tensor parallelism leaves whole on every rank is cut along the tokens.

Idea      Tensor parallelism cuts what is inside of attention and feed-forward network. Norms, dropout and the stream
          between them stay whole: every rank computes and keeps the same b s h elements, several times a layer. All of
          these treat each token by itself, so rank r can have the tokens r s / P ... (r + 1) s / P - 1 there. Before a
          column-parallel layer the tokens are gathered; after a row-parallel one the sum is scattered to their ranks.

              tensor parallel   norm --copy--> column, row --total--> + norm ...       [b, s, h] outside
              + sequence        norm --gather--> column, row --scatter--> + norm ...   [b, s/P, h] outside

Sends     The same bytes: an all-reduce is a reduce-scatter and an all-gather. But who does not keep the gathered input
          of a column-parallel layer gathers it again in the backward pass: a quarter more, in each layer 10 times
          (P - 1) / P b s h, where there were 8. (Megatron-LM does that. Here: with overlap=True.)
Exact     A norm's weight and bias, and the bias of a row-parallel layer, see s / P tokens on each rank: their gradients
          are terms of a sum, and are added up. The residual addition needs no message, nor does LayerNorm, whose
          mean is over the h elements of a token.
Source    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), section 4.2.2.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .mappings import copy
from .shards import replica


class LayerNorm(nn.Module):
    """A copy of a serial LayerNorm over the last dimension; `sequence`: for this rank's tokens only. [..., h]."""

    def __init__(self, comm, serial: nn.LayerNorm, sequence: bool = False):
        super().__init__()
        self.comm, self.sequence, self.eps = comm, sequence, serial.eps
        self.weight, self.bias = replica(serial.weight), replica(serial.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Each token to mean 0 and variance 1, times weight, plus bias."""
        weight, bias = self.weight, self.bias
        if self.sequence:
            weight, bias = copy(self.comm, torch.stack([weight, bias]))
        return F.layer_norm(x, weight.shape, weight, bias, self.eps)
