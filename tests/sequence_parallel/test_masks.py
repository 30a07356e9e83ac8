"""Masks by position: the dense matrix is the specification; tiles that are masked entirely are found."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.models.seeds import generator
from reference.sequence_parallel.layouts import striped, zigzag
from reference.sequence_parallel.masks import (
    Tile,
    Tokens,
    computed_pairs,
    packed,
    reach,
    sees,
    tiles,
    visible,
    visible_pairs,
)

from .serial import mask


def dense(queries, keys, causal):
    """The mask of two lists of tiles, put together."""
    found = torch.zeros(queries[-1].stop, keys[-1].stop, dtype=torch.bool)
    for q in queries:
        for k in keys:
            if sees(q, k, causal):
                part = visible(q, k, causal)
                found[q.start : q.stop, k.start : k.stop] = True if part is None else part
    return found


def test_tiles_of_a_zigzag():
    assert tiles(zigzag(16, 2).of(0), block=8) == [Tile(0, 4, 0, 1, 0), Tile(4, 8, 12, 1, 0)]
    assert tiles(zigzag(16, 2).of(0), block=3)[:2] == [Tile(0, 3, 0, 1, 0), Tile(3, 4, 3, 1, 0)]
    assert tiles(striped(16, 4).of(1), block=8) == [Tile(0, 4, 1, 4, 0)]
    assert tiles(packed([2, 3]), block=8) == [Tile(0, 2, 0, 1, 0), Tile(2, 5, 0, 1, 1)]
    with pytest.raises(ValueError, match="at least 1 token, got block=0"):
        tiles(packed([4]), 0)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("block", [1, 3, 100])
def test_the_matrix_in_any_order(causal, block):
    tokens = packed([5, 1, 9, 3])
    shuffled = tokens.at(torch.randperm(18, generator=generator(1)))
    for some in (tokens, shuffled, tokens.at(torch.arange(0, 18, 2))):
        cut = tiles(some, block)
        assert torch.equal(dense(cut, cut, causal), mask(some, causal))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 5), st.booleans(), st.integers(0, 10**6))
def test_any_part_of_any_documents_in_any_order(lengths, block, causal, seed):
    numbers = generator(seed)
    queries, keys = (
        packed(lengths).at(torch.randperm(sum(lengths), generator=numbers)[: max(1, sum(lengths) // 2)]) for _ in "qk"
    )
    seen = queries.documents[:, None] == keys.documents
    seen &= (queries.positions[:, None] >= keys.positions) | (not causal)
    cut = tiles(queries, block), tiles(keys, block)
    assert torch.equal(dense(*cut, causal), seen)
    assert visible_pairs(*cut, causal) == seen.sum() <= computed_pairs(*cut, causal)
    assert reach(*cut, causal) == bool(seen.any())


def test_what_is_masked_entirely_is_told_without_a_matrix():
    early, late = (
        tiles(Tokens(torch.arange(4), torch.zeros(4)), 4),
        tiles(Tokens(torch.arange(4, 8), torch.zeros(4)), 4),
    )
    assert not reach(early, late, causal=True) and reach(early, late, causal=False)
    assert visible(late[0], early[0], causal=True) is None
    assert computed_pairs(early + late, early + late, causal=True) == 3 * 16
    other = tiles(Tokens(torch.arange(4), torch.ones(4)), 4)
    assert not reach(other, early, causal=False)
