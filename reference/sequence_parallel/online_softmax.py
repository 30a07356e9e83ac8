"""Online softmax: softmax(S) V computed in one pass over the keys, a block at a time, and never with a whole row of S.

Idea      A softmax needs the maximum and the sum of its whole row. Both can be kept while the row arrives in blocks,
          if what was summed under an old maximum is rescaled to the new one. For each query, with S_j = q K_j^T /
          sqrt(d) the scores of block j:

              m' = max(m, max S_j)
              l' = exp(m - m') l + sum exp(S_j - m')
              O' = exp(m - m') O + exp(S_j - m') V_j

          After the last block O / l is the output, and L = m + log l is the log-sum-exp of the row: all that the
          backward pass needs to know of the softmax.
          Two finished results over different keys merge by the same rule. Each counts with the weight exp(L_i - L),
          L = log(exp L_1 + exp L_2): so blocks may be computed anywhere, in any order.
Before    P = exp(S - max S);  O = P V / sum P          needs the row of scores at once
After     the recurrence above                          needs one block of scores at a time
Exact     Equal to the softmax of the whole row up to rounding. A row in which nothing is visible has m = L = -inf,
          l = 0, and its output is 0 (torch's scaled_dot_product_attention gives 0 there, too).
Source    Milakov & Gimelshein, "Online normalizer calculation for softmax" (2018); Dao, Fu, Ermon, Rudra & Ré,
          "FlashAttention" (2022), Algorithm 1; Rabe & Staats, "Self-attention Does Not Need O(n^2) Memory" (2021).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class State(NamedTuple):
    """What is kept of the blocks so far: m and l [..., s, 1], the output before the division O [..., s, d]."""

    m: Tensor
    l: Tensor  # noqa: E741 (the paper's letter)
    O: Tensor  # noqa: E741


def begin(queries: Tensor, d: int) -> State:
    """The state before the first block, for queries [..., s, any] and values of width d."""
    rows = queries.shape[:-1]
    return State(queries.new_full((*rows, 1), -torch.inf), queries.new_zeros(*rows, 1), queries.new_zeros(*rows, d))


def absorb(state: State, S: Tensor, V: Tensor) -> State:
    """The state after one more block: its scores S [..., s, t], -inf where masked, and its values V [..., t, d]."""
    m = torch.maximum(state.m, S.amax(-1, keepdim=True))
    base = finite(m)
    P = torch.exp(S - base)
    alpha = torch.exp(state.m - base)  # what was summed under the old maximum shrinks by this
    return State(m, alpha * state.l + P.sum(-1, keepdim=True), alpha * state.O + P @ V)


def finish(state: State) -> tuple[Tensor, Tensor]:
    """The output [..., s, d] and the log-sum-exp L [..., s, 1]; 0 and -inf in rows in which nothing was visible."""
    seen = state.l > 0
    return state.O / torch.where(seen, state.l, 1.0), state.m + torch.log(state.l)


def merge(o1: Tensor, L1: Tensor, o2: Tensor, L2: Tensor) -> tuple[Tensor, Tensor]:
    """Output o [..., s, d] and log-sum-exp L [..., s, 1] over two sets of keys together, from those over each."""
    L = torch.logaddexp(L1, L2)
    base = finite(L)
    return torch.exp(L1 - base) * o1 + torch.exp(L2 - base) * o2, L


def finite(m: Tensor) -> Tensor:
    """m with 0 in place of -inf: exp(-inf - 0) is the 0 that is meant, exp(-inf - -inf) would be NaN."""
    return torch.where(m == -torch.inf, 0.0, m)
