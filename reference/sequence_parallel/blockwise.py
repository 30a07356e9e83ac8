"""Blockwise attention: softmax(q k^T / sqrt(d)) v by tiles, forward and backward, without the s x s matrix of scores.

Idea      Each tile of queries runs over the tiles of keys and values with the online softmax (online_softmax.py). What
          is kept for the backward pass is the output O and L = m + log l, one number a row. The backward pass computes
          the scores again, tile by tile; with P = exp(S - L) and D = rowsum(dO O), one number a row,

              dV = P^T dO     dP = dO V^T     dS = P (dP - D)     dQ = dS K / sqrt(d)     dK = dS^T Q / sqrt(d)

          The blocks of keys may be all there, or arrive one after the other: `attend` and `attend_backward` take them
          from an iterable. Ring attention hands them what travels around the ring (ring_attention.py), and the
          all-gather what it has collected (gather_kv.py). All that computes is here.
Before    scores and weights of s x s for each head, kept for the backward pass
After     one tile of scores at a time; O and L are kept: memory grows with s and no longer with its square
Price     2 matrix products a tile forward and 5 backward, where 4 would do with the weights kept.
Exact     Equal to attention with the whole matrix up to rounding. Sums are kept in float32 or better.
Left out  Dropout of the weights; the fused kernel, which keeps a tile in the chip's own memory: that is what makes
          FlashAttention quick, and what makes it small is here.
Source    Dao et al., "FlashAttention" (2022) and Dao, "FlashAttention-2" (2023), Algorithms 1 and 2, with their
          letters. Ainslie et al., "GQA" (2023), for grouped heads: k and v are never repeated for the heads of a group.

Letters in the shapes: b sequences, s tokens, a heads of queries, g of keys and values, d the width of a head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from .masks import Tile, Tokens, reach, sees, tiles, visible
from .online_softmax import State, absorb, begin, finish, finite, merge

BLOCK = 512  # tokens of a tile, unless told


# One pair of tiles ---------------------------------------------------------------------------------------------------


def scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """S = q k^T / sqrt(d), -inf where the mask [s, t] is False. q [b, g, (a/g) s, d], k [b, g, t, d]."""
    S = (q @ k.transpose(-1, -2)).mul_(q.shape[-1] ** -0.5)
    if mask is not None:
        S.unflatten(2, (-1, len(mask))).masked_fill_(~mask, -torch.inf)
    return S


def pair_forward(state: State, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> State:
    """The state of these queries after this tile of keys and values."""
    return absorb(state, scores(q, k, mask), v)


def pair_backward(
    q: Tensor, k: Tensor, v: Tensor, dO: Tensor, L: Tensor, D: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """What this pair of tiles adds to dq, dk and dv. q and dO [b, g, (a/g) s, d], L and D [b, g, (a/g) s, 1]."""
    P = torch.exp(scores(q, k, mask).sub_(finite(L)))  # a row in which nothing is visible has only exp(-inf) = 0
    dv = P.transpose(-1, -2) @ dO
    dS = (dO @ v.transpose(-1, -2)).sub_(D).mul_(P).mul_(q.shape[-1] ** -0.5)
    return dS @ k, dS.transpose(-1, -2) @ q, dv


# All pairs of two sets of tiles --------------------------------------------------------------------------------------


def rows(x: Tensor, tile: Tile, g: int, dtype: torch.dtype) -> Tensor:
    """The tile of x [b, a, s, d] as [b, g, (a/g) t, d]: the heads of a group under each other, for they share keys."""
    return x[:, :, tile.start : tile.stop].unflatten(1, (g, -1)).flatten(2, 3).to(dtype)


def add_rows(x: Tensor, tile: Tile, part: Tensor) -> None:
    """Add part [b, g, (a/g) t, d] to the tile of x [b, a, s, d]."""
    x[:, :, tile.start : tile.stop] += part.reshape(*x.shape[:2], len(tile), x.shape[3])


def forward(
    q: Tensor, k: Tensor, v: Tensor, queries: Sequence[Tile], keys: Sequence[Tile], causal: bool
) -> tuple[Tensor, Tensor]:
    """Output o [b, a, s, d] and L [b, a, s, 1] over these keys alone, in float32 or better."""
    g, kind = k.shape[1], accumulator(q.dtype)
    o, L = torch.zeros_like(q, dtype=kind), q.new_zeros(*q.shape[:3], 1, dtype=kind)
    for i in queries:
        q_i = rows(q, i, g, kind)
        state = begin(q_i, v.shape[-1])
        for j in (j for j in keys if sees(i, j, causal)):
            state = pair_forward(state, q_i, rows(k, j, g, kind), rows(v, j, g, kind), visible(i, j, causal))
        o_i, L_i = finish(state)
        add_rows(o, i, o_i)
        add_rows(L, i, L_i)
    return o, L


def backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dO: Tensor,
    L: Tensor,
    D: Tensor,
    queries: Sequence[Tile],
    keys: Sequence[Tile],
    causal: bool,
) -> tuple[Tensor, Tensor]:
    """What these keys add to dq [b, a, s, d]; dk and dv, stacked [2, b, g, t, d]. L and D are of the whole row."""
    g, kind = k.shape[1], accumulator(q.dtype)
    dq, dkv = torch.zeros_like(q, dtype=kind), k.new_zeros(2, *k.shape, dtype=kind)
    for i in queries:
        q_i, dO_i, L_i, D_i = (rows(x, i, g, kind) for x in (q, dO, L, D))
        for j in (j for j in keys if sees(i, j, causal)):
            k_j, v_j = rows(k, j, g, kind), rows(v, j, g, kind)
            dq_ij, dk_ij, dv_ij = pair_backward(q_i, k_j, v_j, dO_i, L_i, D_i, visible(i, j, causal))
            add_rows(dq, i, dq_ij)
            add_rows(dkv[0], j, dk_ij)
            add_rows(dkv[1], j, dv_ij)
    return dq, dkv


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The type in which sums over blocks are kept: float32 for shorter ones."""
    return torch.promote_types(dtype, torch.float32)


# Blocks of keys and values that arrive one after the other -----------------------------------------------------------

KeyBlocks = Iterable[tuple[Sequence[Tile], Iterable[Tensor]]]
"""(tiles of its tokens, (k, v) or both stacked [2, b, g, t, d]) of one block after the other."""


def attend(q: Tensor, queries: Sequence[Tile], blocks: KeyBlocks, causal: bool) -> tuple[Tensor, Tensor]:
    """Output o and L of the queries over all blocks. One that is masked entirely is not computed."""
    o = torch.zeros_like(q, dtype=accumulator(q.dtype))
    L = o.new_full((*q.shape[:3], 1), -torch.inf)
    for keys, (k, v) in blocks:
        if reach(queries, keys, causal):
            o, L = merge(o, L, *forward(q, k, v, queries, keys, causal))
    return o, L


def attend_backward(
    q: Tensor, o: Tensor, L: Tensor, dO: Tensor, queries: Sequence[Tile], blocks: KeyBlocks, causal: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield, for each block, what it adds to dq, and its dk and dv from these queries, stacked [2, b, g, t, d]."""
    D = (dO.to(L.dtype) * o.to(L.dtype)).sum(-1, keepdim=True)
    for keys, (k, v) in blocks:
        yield backward(q, k, v, dO, L, D, queries, keys, causal)


# On one rank ---------------------------------------------------------------------------------------------------------


class Blockwise(torch.autograd.Function):
    """Attention over keys and values that are all here."""

    @staticmethod
    def forward(ctx, q, k, v, queries, keys, causal):
        """o [b, a, s, d]."""
        o, L = forward(q, k, v, queries, keys, causal)
        ctx.tiles = queries, keys, causal
        o = o.to(q.dtype)
        ctx.save_for_backward(q, k, v, o, L)
        return o

    @staticmethod
    def backward(ctx, dO):
        """dq, dk and dv."""
        q, k, v, o, L = ctx.saved_tensors
        queries, keys, causal = ctx.tiles
        ((dq, (dk, dv)),) = attend_backward(q, o, L, dO, queries, [(keys, (k, v))], causal)
        return *(grad.to(q.dtype) for grad in (dq, dk, dv)), None, None, None


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    queries: Tokens,
    keys: Tokens | None = None,
    causal: bool = True,
    block: int = BLOCK,
) -> Tensor:
    """softmax(q k^T / sqrt(d)) v for q [b, a, s, d] and k, v [b, g, t, d]; rows in which nothing is visible are 0.

    queries, keys: where the tokens stand (masks.packed); keys are the queries' own tokens unless told.
    Raises ValueError for shapes that do not fit.
    """
    if error := misfit(q, k, v, len(queries.positions), len((keys or queries).positions)):
        raise ValueError(error)
    return Blockwise.apply(q, k, v, tiles(queries, block), tiles(keys or queries, block), causal)


def misfit(q: Tensor, k: Tensor, v: Tensor, s: int, t: int) -> str:
    """What is wrong with the shapes for s queries and t keys, in words; "" if nothing is."""
    if q.dim() != 4 or k.dim() != 4 or k.shape != v.shape:
        return f"q is [b, a, s, d], k and v are alike [b, g, t, d], got {_shapes(q, k, v)}"
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        return f"q, k and v need the same number of sequences b and width d, got {_shapes(q, k, v)}"
    if not k.shape[1] or q.shape[1] % k.shape[1]:
        return f"{k.shape[1]} heads of keys and values cannot serve {q.shape[1]} heads of queries alike"
    if (q.shape[2], k.shape[2]) != (s, t):
        return f"positions are given for {s} queries and {t} keys, got {_shapes(q, k, v)}"
    return ""


def _shapes(*tensors: Tensor) -> str:
    return ", ".join(str(list(tensor.shape)) for tensor in tensors)
