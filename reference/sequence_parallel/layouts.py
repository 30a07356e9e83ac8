"""Layouts of a sequence: which tokens each rank holds, and how evenly the causal mask's work falls on the ranks.

Idea      A causal query sees all keys before it, so the tokens at the end of a sequence have far more work than those
          at its beginning. Equal parts are not equal work. For s = 16 tokens on P = 4 ranks, who holds which:

              contiguous     0 0 0 0  1 1 1 1  2 2 2 2  3 3 3 3      the last rank works most
              zigzag         0 0 1 1  2 2 3 3  3 3 2 2  1 1 0 0      2 P chunks, rank r has r and 2 P - 1 - r
              striped        0 1 2 3  0 1 2 3  0 1 2 3  0 1 2 3      token i is on rank i mod P

          Pairs of a query and a key it sees, for rank r, with c = s / P tokens a rank:

              contiguous     r c^2 + c (c + 1) / 2                         at most 2 - 1/P times the mean
              zigzag         (2 P - 1) u^2 + u (u + 1),   u = c / 2        the same for all
              striped        P c (c - 1) / 2 + c (r + 1)                   within c (P - 1) of each other

          In zigzag every pair of two ranks costs the same, too, so that no step of a ring waits for a slower rank.
          Striped has a triangle in each pair of ranks: it saves time only with tiles that are small beside c.
          Documents that are packed into one sequence upset the balance again. A zigzag of each document restores it.
Left out  Parts of unequal length: the layouts refuse what does not divide. Pad the sequence with tokens of a document
          of their own whose targets are IGNORED.
Source    Zigzag: the chunks of Grattafiori et al., "The Llama 3 Herd of Models" (2024), section 3.3.2, and of
          zhuzilin/ring-flash-attention. Striped: Brandon et al., "Striped Attention" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from .masks import Tile, Tokens, packed, tiles, visible_pairs


class SequenceLayout(NamedTuple):
    """Which tokens of a sequence each rank holds: places[r], int64 [s / P]; and where all tokens stand."""

    name: str
    places: tuple[Tensor, ...]
    tokens: Tokens

    @property
    def ranks(self) -> int:
        """P."""
        return len(self.places)

    @property
    def length(self) -> int:
        """s, the tokens of the whole sequence."""
        return len(self.tokens.positions)

    def of(self, rank: int) -> Tokens:
        """Where the tokens of a rank stand."""
        return self.tokens.at(self.places[rank])

    def tiles(self, rank: int, block: int) -> list[Tile]:
        """The tokens of a rank in tiles."""
        return tiles(self.of(rank), block)

    def shard(self, x: Tensor, rank: int, dim: int) -> Tensor:
        """The part of a rank of x, whose dimension `dim` is the sequence."""
        return x.index_select(dim, self.places[rank])

    def join(self, parts: Sequence[Tensor], dim: int) -> Tensor:
        """The whole sequence from the parts of all ranks, in rank order."""
        return torch.cat(list(parts), dim).index_select(dim, torch.argsort(torch.cat(self.places)))

    def split(self, ways: int) -> SequenceLayout:
        """A layout over `ways` times as many ranks: each rank's part in so many equal pieces. Raises ValueError if
        that does not divide."""
        c = len(self.places[0])
        if c % ways:
            raise ValueError(f"{c} tokens of a rank cannot be cut into {ways} equal parts: pad the sequence")
        pieces = tuple(piece for places in self.places for piece in places.split(c // ways))
        return self._replace(name=f"{self.name}, {ways} pieces each", places=pieces)

    def merged(self) -> Tokens:
        """Where all tokens stand, in rank order: how an all-gather or an all-to-all leaves them."""
        return self.tokens.at(torch.cat(self.places))


def contiguous(s: int | Sequence[int], ranks: int) -> SequenceLayout:
    """Rank r holds the r-th of P equal parts. s: tokens, or the lengths of packed documents.

    Raises ValueError, as all layouts do, unless the sequence can be cut into equal parts.
    """
    tokens = _tokens(s, ranks, ranks)
    return SequenceLayout("contiguous", torch.arange(len(tokens.positions)).chunk(ranks), tokens)


def zigzag(s: int | Sequence[int], ranks: int) -> SequenceLayout:
    """Rank r holds chunks r and 2 P - 1 - r of 2 P equal ones. s: tokens, or the lengths of packed documents."""
    tokens = _tokens(s, ranks, 2 * ranks)
    return SequenceLayout("zigzag", _fold(torch.arange(len(tokens.positions)), ranks), tokens)


def striped(s: int | Sequence[int], ranks: int) -> SequenceLayout:
    """Rank r holds tokens r, r + P, r + 2 P, ... s: tokens, or the lengths of packed documents."""
    tokens = _tokens(s, ranks, ranks)
    return SequenceLayout("striped", tuple(torch.arange(r, len(tokens.positions), ranks) for r in range(ranks)), tokens)


def zigzag_documents(lengths: Sequence[int], ranks: int) -> SequenceLayout:
    """A zigzag of each document by itself, so that the ranks have the same work whatever the lengths.

    Raises ValueError unless 2 P divides each length.
    """
    for length in lengths:
        _tokens(length, ranks, 2 * ranks)
    starts = torch.tensor([0, *lengths]).cumsum(0).tolist()
    folded = [_fold(torch.arange(lo, hi), ranks) for lo, hi in pairwise(starts)]
    return SequenceLayout("zigzag of each document", tuple(map(torch.cat, zip(*folded))), packed(lengths))


def _fold(places: Tensor, ranks: int) -> tuple[Tensor, ...]:
    """Chunks r and 2 P - 1 - r for each rank."""
    chunks = places.chunk(2 * ranks)
    return tuple(torch.cat([chunks[r], chunks[2 * ranks - 1 - r]]) for r in range(ranks))


def _tokens(s: int | Sequence[int], ranks: int, parts: int) -> Tokens:
    """The tokens of the sequence. Raises ValueError unless they can be cut into so many equal parts."""
    lengths = [s] if isinstance(s, int) else list(s)
    total = sum(lengths)
    if ranks < 1 or min(lengths, default=0) < 1 or total % parts:
        raise ValueError(
            f"{total} tokens cannot be cut into {parts} equal parts for {ranks} ranks: pad the sequence to a multiple "
            f"of {parts}, with tokens of a document of their own"
        )
    return packed(lengths)


# How even the work is ------------------------------------------------------------------------------------------------


def work(layout: SequenceLayout, causal: bool = True) -> Tensor:
    """Pairs of a query of rank r and a key of rank j that the mask leaves, int64 [P, P]."""
    cut = [layout.tiles(rank, layout.length) for rank in range(layout.ranks)]
    return torch.tensor([[visible_pairs(queries, keys, causal) for keys in cut] for queries in cut])


def by_step(pairs: Tensor) -> Tensor:
    """The work [P, P] by rank and step of a ring, [P, P]: in step t rank r has the keys of rank r - t."""
    ranks = torch.arange(len(pairs))
    return torch.stack([pairs[ranks, (ranks - t) % len(pairs)] for t in range(len(pairs))], 1)


def balance(pairs: Tensor) -> float:
    """The mean over the ranks of their work, divided by the largest: 1 if no rank waits for another one."""
    each = pairs.sum(1).double()
    return float(each.mean() / each.max())


def contiguous_work(s: int, ranks: int, rank: int) -> int:
    """Visible pairs of one rank, contiguous: r c^2 + c (c + 1) / 2."""
    c = s // ranks
    return rank * c * c + c * (c + 1) // 2


def zigzag_work(s: int, ranks: int) -> int:
    """Visible pairs of any rank, zigzag: (2 P - 1) u^2 + u (u + 1) with chunks of u = s / 2 P."""
    u = s // (2 * ranks)
    return (2 * ranks - 1) * u * u + u * (u + 1)


def striped_work(s: int, ranks: int, rank: int) -> int:
    """Visible pairs of one rank, striped: P c (c - 1) / 2 + c (r + 1)."""
    c = s // ranks
    return ranks * c * (c - 1) // 2 + c * (rank + 1)
