"""Which heads and which rows of the qkv layer a rank has."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.models import gpt
from reference.tensor_parallel.attention import PADDING, Heads, rows_of, share_heads

from .cases import numbers


def all_heads(heads, groups, ranks, pad=False):
    return [share_heads(heads, groups, rank, ranks, pad) for rank in range(ranks)]


def test_as_drawn():
    assert all_heads(8, 2, 4) == [
        Heads((0, 1), (0,), 2),
        Heads((2, 3), (0,), 2),
        Heads((4, 5), (1,), 2),
        Heads((6, 7), (1,), 2),
    ]
    assert all_heads(4, 4, 2) == [Heads((0, 1), (0, 1)), Heads((2, 3), (2, 3))]
    assert share_heads(6, 3, 1, 2, pad=True) == Heads((4, 5, PADDING, PADDING), (2, PADDING))


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 8))
def test_each_head_is_on_one_rank_beside_its_keys_and_values(groups, each, ranks):
    found = all_heads(groups * each, groups, ranks, pad=True)
    assert sorted(q for one in found for q in one.queries if q != PADDING) == list(range(groups * each))
    assert len({(len(one.queries), len(one.groups)) for one in found}) == 1  # the ranks have equally much to do
    for one in found:
        assert {q // each for q in one.queries} - {PADDING // each} == {g for g in one.groups if g != PADDING}


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 6))
def test_the_rows_are_those_that_split_heads_reads(groups, each, ranks):
    """A layer whose row i puts out i: what a rank's heads get is what the serial heads get."""
    heads, width = groups * each, 2
    serial = torch.arange(1.0, (heads + 2 * groups) * width + 1)[None, None]
    q, k, v = gpt.split_heads(serial, heads, groups)
    for one in all_heads(heads, groups, ranks, pad=True):
        rows = torch.tensor(rows_of(one, heads, groups, width))
        mine = torch.where(rows == PADDING, 0, serial[..., rows.clamp(min=0)])
        ours = gpt.split_heads(mine, len(one.queries), len(one.groups))
        for found, whole, own in zip(ours, (q, k, v), (one.queries, one.groups, one.groups)):
            for place, head in enumerate(own):
                expected = whole[:, head] if head != PADDING else torch.zeros_like(whole[:, 0])
                assert torch.equal(found[:, place], expected)


@pytest.mark.parametrize("heads, groups, ranks", [(8, 8, 3), (8, 2, 3), (8, 4, 16), (6, 2, 4), (2, 1, 4)])
def test_heads_that_cannot_be_shared_are_refused_with_what_padding_would_cost(heads, groups, ranks):
    more = (-(-groups // ranks) * ranks - groups) * heads // groups
    with pytest.raises(ValueError, match=rf"{heads} heads in {groups} groups .* by {ranks} ranks.*zeros: {more} more"):
        share_heads(heads, groups, 0, ranks)


def test_the_scale_is_that_of_one_head():
    """Attention by half of the heads with the scale of the whole width is another function."""
    q, k, v = (numbers(1, 4, 5, 8, seed=seed) for seed in range(3))
    right = torch.nn.functional.scaled_dot_product_attention(q[:, :2], k[:, :2], v[:, :2])
    by_width = torch.nn.functional.scaled_dot_product_attention(q[:, :2], k[:, :2], v[:, :2], scale=(2 * 8) ** -0.5)
    whole = torch.nn.functional.scaled_dot_product_attention(q, k, v)[:, :2]
    assert torch.equal(right, whole) and not torch.allclose(by_width, whole, atol=1e-2)
