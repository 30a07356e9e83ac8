"""Masks: which query sees which key, told by where a token stands, so that a tile that is masked entirely is skipped.

Idea      The rank that holds a token knows its document and its position there. A causal query sees the keys of its own
          document that do not stand behind it. So the mask of any two sets of tokens follows from their positions,
          whichever rank holds them and in whatever order; no mask of s x s is ever made.
          Tokens are cut into tiles: at most `block` tokens of one document in even steps. For two tiles a comparison
          of their first and last positions tells whether all of it is visible, nothing, or a part:

              queries 4..7, keys 0..3: all      keys 4..7: the triangle      keys 8..11: nothing, skipped

Left out  Sliding windows and other patterns. A kernel that takes many short documents at once (FlashAttention's
          "varlen"): here each document has tiles of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Tokens(NamedTuple):
    """Where tokens stand: positions in their document and the number of that document, int64 [s] each."""

    positions: Tensor
    documents: Tensor

    def at(self, places: Tensor) -> Tokens:
        """Those of the tokens that stand at these places of the tensors."""
        return Tokens(self.positions[places], self.documents[places])


def packed(lengths: Sequence[int]) -> Tokens:
    """Documents of these lengths one after the other; packed([s]) is a single sequence of s tokens."""
    positions = torch.cat([torch.arange(n) for n in lengths])
    return Tokens(positions, torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths)))


class Tile(NamedTuple):
    """Tokens start, ..., stop - 1 of a tensor, at the positions first, first + step, ... of one document."""

    start: int
    stop: int
    first: int
    step: int
    document: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def last(self) -> int:
        """The position of the last token."""
        return self.first + self.step * (len(self) - 1)

    @property
    def positions(self) -> Tensor:
        """int64 [stop - start]."""
        return self.first + self.step * torch.arange(len(self))


def tiles(tokens: Tokens, block: int) -> list[Tile]:
    """Cut tokens into tiles of at most `block`. Raises ValueError unless block >= 1."""
    if block < 1:
        raise ValueError(f"a tile has at least 1 token, got {block=}")
    positions, documents = tokens.positions.tolist(), tokens.documents.tolist()
    found, start = [], 0
    while start < len(positions):
        stop = _end_of_run(positions, documents, start)
        step = positions[start + 1] - positions[start] if stop > start + 1 else 1
        found += [
            Tile(lo, min(lo + block, stop), positions[lo], step, documents[lo]) for lo in range(start, stop, block)
        ]
        start = stop
    return found


def _end_of_run(positions: list[int], documents: list[int], start: int) -> int:
    """Where the run of one document in even steps forward ends that begins at `start`."""
    stop, s = start + 1, len(positions)
    while stop < s and documents[stop] == documents[start] and positions[stop] > positions[stop - 1]:
        if positions[stop] - positions[stop - 1] != positions[start + 1] - positions[start]:
            break
        stop += 1
    return stop


def sees(queries: Tile, keys: Tile, causal: bool) -> bool:
    """Whether any of these queries sees any of these keys."""
    return queries.document == keys.document and not (causal and queries.last < keys.first)


def visible(queries: Tile, keys: Tile, causal: bool) -> Tensor | None:
    """The mask of two tiles of one document, True where visible, bool [queries, keys]; None if all of it is."""
    if not causal or queries.first >= keys.last:
        return None
    return queries.positions[:, None] >= keys.positions


def reach(queries: Sequence[Tile], keys: Sequence[Tile], causal: bool) -> bool:
    """Whether any query of these tiles sees any key of those."""
    return any(sees(q, k, causal) for q in queries for k in keys)


def visible_pairs(queries: Sequence[Tile], keys: Sequence[Tile], causal: bool) -> int:
    """How many pairs of a query and a key the mask leaves: the work that the mathematics asks for."""
    masks = [(q, k, visible(q, k, causal)) for q in queries for k in keys if sees(q, k, causal)]
    return sum(len(q) * len(k) if mask is None else int(mask.sum()) for q, k, mask in masks)


def computed_pairs(queries: Sequence[Tile], keys: Sequence[Tile], causal: bool) -> int:
    """How many scores are computed: all those of each tile pair of which a part is visible."""
    return sum(len(q) * len(k) for q in queries for k in keys if sees(q, k, causal))
