"""Attention by heads: each rank has some of the heads, from their columns of Q, K, V to their rows of the output layer.

Idea      Heads do not look at each other until the output layer adds them up. So the layer that makes q, k and v is cut
          by columns, a head whole on one rank, and the output layer by rows: one sum forward, one backward, as in the
          feed-forward network. Scores and softmax are local, and so are a / P of the b a s^2 scores.
          With grouped heads (GQA) a rank needs the keys and values of its heads' groups. If there are fewer groups than
          ranks, P / g ranks have a copy of the same k and v weights. Each copy sees the gradient of its own heads only,
          so the copies' gradients are added up in the group of those ranks: once, not over all ranks.

              a = 8, g = 2, P = 4      rank 0     rank 1     rank 2     rank 3
              heads of queries         0 1        2 3        4 5        6 7
              keys and values          0          0          1          1         gradients: 0 + 1 and 2 + 3

Sends     As a column- and a row-parallel layer; and backward an all-reduce of the copies' k and v weights in their
          group of P / g ranks, 2 (h + 1) h / a elements, if g < P.
Exact     The scale is 1 / sqrt(h / a), the width of one head, on any number of ranks. Heads that P does not divide are
          refused, or padded with heads of zeros, which put out zeros and stay zeros.
Left out  Rotary positions; a cache of keys and values (which g < P ranks would hold in copies, too).
Source    Shoeybi et al., "Megatron-LM" (2019), section 3; Ainslie et al., "GQA" (2023).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..models import gpt
from .dropout import Masks
from .layers import ColumnParallelLinear, RowParallelLinear
from .mappings import copy, padded
from .shards import PADDING, elements


class Heads(NamedTuple):
    """What a rank has: its heads of queries, its groups of keys and values, and how many ranks have the same groups."""

    queries: tuple[int, ...]
    groups: tuple[int, ...]
    copies: int = 1


def share_heads(heads: int, groups: int, rank: int, ranks: int, pad: bool = False) -> Heads:
    """This rank's heads. Raises ValueError if they cannot be shared equally, unless `pad`."""
    each = heads // groups  # heads of queries in a group
    if groups % ranks and not ranks % groups and not each % (ranks // groups):
        copies = ranks // groups
        first = rank * (heads // ranks)
        return Heads(tuple(range(first, first + heads // ranks)), (rank // copies,), copies)
    if groups % ranks and not pad:
        raise ValueError(
            f"{heads} heads in {groups} groups of keys and values cannot be shared equally by {ranks} ranks: the "
            f"degree has to divide the groups, or be a multiple of them that divides the heads; or take pad=True, "
            f"which adds heads of zeros: {(padded(groups, ranks) - groups) * each} more"
        )
    own = range(padded(groups, ranks))[rank * -(-groups // ranks) :][: -(-groups // ranks)]
    mine = tuple(group if group < groups else PADDING for group in own)
    return Heads(elements(mine, each), mine)


def rows_of(own: Heads, heads: int, groups: int, width: int) -> tuple[int, ...]:
    """The rows of the serial qkv layer that these heads need; in it the heads of a group, its k and its v lie together.

    width: of one head.
    """
    each, rows = heads // groups, []
    for place, group in enumerate(own.groups):
        mine = own.queries[place * len(own.queries) // len(own.groups) :][: len(own.queries) // len(own.groups)]
        if group == PADDING:
            rows += [PADDING] * (len(mine) + 2)
        else:
            first = group * (each + 2)
            rows += [first + head - group * each for head in mine] + [first + each, first + each + 1]
    return elements(rows, width)


class Attention(nn.Module):
    """This rank's heads of a serial models.gpt.Attention. [b, s, h] -> [b, s, h]; with `sequence` s / P, in and out."""

    def __init__(
        self,
        comm,
        serial: gpt.Attention,
        masks: Masks,
        sequence: bool = False,
        overlap: bool = False,
        pad: bool = False,
    ):
        super().__init__()
        h = serial.out.in_features
        self.all_heads, self.width, self.dropout, self.masks = serial.heads, h // serial.heads, serial.dropout, masks
        self.own = own = share_heads(serial.heads, serial.groups, comm.rank, comm.size, pad)
        rows = rows_of(own, serial.heads, serial.groups, self.width)
        self.qkv = QKV(comm, own, serial.qkv, rows, self.width, sequence, overlap)
        columns = elements(own.queries, self.width)
        self.out = RowParallelLinear(comm, serial.out, columns, sequence=sequence, overlap=overlap)

    def forward(self, x: Tensor) -> Tensor:
        """Look from each token at those before it, with this rank's heads; then add up over the ranks."""
        heads = len(self.own.queries)
        q, k, v = gpt.split_heads(self.qkv(x), heads, len(self.own.groups))
        return self.out(gpt.join_heads(self.attend(q, k, v)))

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """softmax(q k^T / sqrt(width of a head)) v, causal: q [b, own heads, s, width], k and v of the own groups."""
        k, v = gpt.repeat_groups(k, q.shape[1]), gpt.repeat_groups(v, q.shape[1])
        p = self.dropout if self.training else 0.0
        if not p:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        later = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu(1)
        scores = (q @ k.transpose(2, 3) / self.width**0.5).masked_fill(later, -torch.inf).softmax(-1)
        return self.masks.dropout(scores, p, 1, self.own.queries, self.all_heads) @ v


class QKV(ColumnParallelLinear):
    """The column-parallel layer that makes q, k and v, some of whose columns other ranks may have, too."""

    def __init__(
        self, comm, own: Heads, serial: nn.Linear, rows: tuple[int, ...], width: int, sequence: bool, overlap: bool
    ):
        super().__init__(comm, serial, rows, sequence=sequence, overlap=overlap)
        self.queries = len(own.queries) * width  # the first rows; those of k and v, which have copies, follow
        self.copies = comm.Split(comm.rank // own.copies, comm.rank) if own.copies > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        """As a column-parallel layer; the gradients of k and v go to all ranks that have a copy, as their sum."""
        if self.copies is None:
            return super().forward(x)
        joined = torch.cat([self.weight, self.bias[:, None]], 1)
        queries, kv = joined.split([self.queries, len(joined) - self.queries])
        summed = torch.cat([queries, copy(self.copies, kv)])
        return self.multiply(x, summed[:, :-1]) + summed[:, -1]
