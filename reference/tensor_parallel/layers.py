"""Column- and row-parallel linear layers: one matrix product on P ranks, each with 1 / P of the weights.

Idea      Y = X A can be cut in two ways. By columns of A: each rank has whole rows of X and computes some columns of Y.
          By rows of A: each rank has some columns of X and computes a whole Y that is one term of a sum. A column-
          parallel layer ends as a row-parallel one begins. So two layers with an element-wise function between them
          need one sum forward, after the second, and one backward, before the first.

              X --copy--> X -- A_r --> Y_r -- GELU --> Y_r -- B_r --> Z_r --total--> Z = the sum of all Z_r, + bias
                backward: all-reduce dX                              forward: all-reduce Z

          Rows first would not do: GELU(sum of Y_r) is not the sum of GELU(Y_r), so the sum would come before it.
Before    each rank keeps, and multiplies by, h x 4 h weights
After     h x 4 h / P of them. (torch keeps the transpose of A, so a column of A is a row of `weight`.)
Sends     Column-parallel: nothing forward, and backward an all-reduce of the input's gradient, b s h elements. Row-
          parallel: forward an all-reduce of the output, and nothing backward. With `sequence` (sequence.py) each
          all-reduce is an all-gather and a reduce-scatter.
Exact     The bias of a row-parallel layer is added once, after the sum: added by every rank it would count P times.
          Sizes that P does not divide are refused, or padded with zeros, which stay zeros: the gradient of a weight
          from a unit that is always 0 is 0, and so is that of one into a unit which nothing uses.
Left out  Layers whose weights do not fit into one rank's memory while they are cut (shards.py).
Source    Shoeybi et al., "Megatron-LM" (2019), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from .mappings import copy, gather, gather_total, scatter, scatter_total, total
from .overlap import copy_matmul, gather_matmul, matmul_scatter
from .shards import equal_parts, replica, shard

TOKENS = 1  # the dimension of the sequence in [b, s, h]


class ColumnParallelLinear(nn.Module):
    """This rank's columns of a linear layer, Y_r = X A_r + bias_r. [..., inputs] -> [..., outputs / P].

    serial    the whole layer, the same on all ranks, of which this rank copies its part
    own       the numbers of its outputs (shards.PADDING: zeros); equal contiguous parts unless given
    gathered  give the whole Y to every rank
    sequence  X is cut along the tokens, [b, s / P, inputs]: gather it first
    overlap   communicate while computing (overlap.py)
    pad       add outputs of zeros if P does not divide them; else ValueError
    """

    def __init__(
        self,
        comm,
        serial: nn.Linear,
        own: Sequence[int] | None = None,
        gathered: bool = False,
        sequence: bool = False,
        overlap: bool = False,
        pad: bool = False,
    ):
        super().__init__()
        own = equal_parts(comm, serial.out_features, pad, "outputs of a linear layer") if own is None else own
        self.comm, self.gathered, self.sequence, self.overlap = comm, gathered, sequence, overlap
        self.weight = shard(serial.weight, 0, own)
        self.bias = None if serial.bias is None else shard(serial.bias, 0, own)

    def forward(self, x: Tensor) -> Tensor:
        """[b, s, inputs] (s / P with `sequence`) -> [b, s, own outputs]."""
        y = self.multiply(x, self.weight)
        y = y if self.bias is None else y + self.bias
        return gather(self.comm, y) if self.gathered else y

    def multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        """X times these columns, with what goes before it."""
        if self.overlap:
            return (gather_matmul if self.sequence else copy_matmul)(self.comm, x, weight)
        return F.linear(gather_total(self.comm, x, TOKENS) if self.sequence else copy(self.comm, x), weight)


class RowParallelLinear(nn.Module):
    """This rank's rows of a linear layer, and the sum over the ranks: Y = sum of X_r A_r, + bias.

    [..., inputs / P] -> [..., outputs], or [b, s / P, outputs] with `sequence`. Arguments as above; and
    whole_input  X is the same on all ranks: take this rank's part of it first
    """

    def __init__(
        self,
        comm,
        serial: nn.Linear,
        own: Sequence[int] | None = None,
        whole_input: bool = False,
        sequence: bool = False,
        overlap: bool = False,
        pad: bool = False,
    ):
        super().__init__()
        own = equal_parts(comm, serial.in_features, pad, "inputs of a linear layer") if own is None else own
        self.comm, self.whole_input, self.sequence, self.overlap = comm, whole_input, sequence, overlap
        self.weight, self.bias = shard(serial.weight, 1, own), replica(serial.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[b, s, own inputs] -> [b, s, outputs] (s / P with `sequence`)."""
        y = self.multiply(scatter(self.comm, x) if self.whole_input else x)
        if self.bias is None:
            return y
        return y + (copy(self.comm, self.bias) if self.sequence else self.bias)  # with `sequence` of some tokens only

    def multiply(self, x: Tensor) -> Tensor:
        """The sum over the ranks of X_r A_r."""
        if self.overlap and self.sequence:
            return matmul_scatter(self.comm, x, self.weight)
        y = F.linear(x, self.weight)
        return scatter_total(self.comm, y, TOKENS) if self.sequence else total(self.comm, y)
