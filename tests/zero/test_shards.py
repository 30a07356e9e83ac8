"""Every element has one owner, whatever the cut; what is packed is unpacked."""

from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.zero.shards import by_rows, flat

SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=4)
CUTS = [flat, by_rows]


def numbered(shapes):
    """Tensors of these shapes, all of whose elements differ."""
    first = 0
    for shape in shapes:
        yield torch.arange(first, first + prod(shape), dtype=torch.float64).view(shape) + 1
        first += prod(shape)


@pytest.mark.parametrize("cut", CUTS)
@given(shapes=SHAPES, P=st.integers(1, 9))
def test_all_shards_together_are_the_tensors(cut, shapes, P):
    sharding, tensors = cut(shapes, P), list(numbered(shapes))
    gathered = torch.cat([sharding.shard(tensors, rank) for rank in range(P)])
    assert gathered.shape == (P * sharding.n,)
    assert gathered.count_nonzero() == sum(map(prod, shapes))  # each element once
    assert all(map(torch.equal, sharding.unpack(gathered), tensors))
    assert torch.equal(sharding.pack(tensors, torch.full_like(gathered, 7.0)), gathered)


@given(shapes=SHAPES, P=st.integers(1, 9))
def test_a_flat_shard_is_no_longer_than_it_must_be_and_nothing_is_copied_out(shapes, P):
    sharding, total = flat(shapes, P), sum(map(prod, shapes))
    assert sharding.n == -(-total // P)
    gathered = torch.zeros(P * sharding.n)
    for tensor in sharding.unpack(gathered):
        assert tensor.untyped_storage().data_ptr() == gathered.untyped_storage().data_ptr()


@pytest.mark.parametrize("rows, P", [(7, 3), (2, 5), (8, 4), (9, 8)])
def test_rows_go_where_torch_chunk_puts_them(rows, P):
    tensor = torch.arange(rows * 6.0).view(rows, 2, 3)
    chunks = [*torch.chunk(tensor, P), *[tensor[:0]] * P][:P]
    sharding = by_rows([tensor.shape], P)
    pieces = [sharding.split(sharding.shard([tensor], rank), rank)[0] for rank in range(P)]
    assert all(map(torch.equal, pieces, chunks))
    assert sharding.n == 6 * -(-rows // P)


def test_the_example_of_the_docstring():
    assert (flat([(3, 2), (3,)], 2).n, by_rows([(3, 2), (3,)], 2).n) == (5, 6)
    assert [list(cut) for cut in flat([(3, 2), (3,)], 2).cuts] == [[0, 5, 6], [0, 0, 3]]
    assert [list(cut) for cut in by_rows([(3, 2), (3,)], 2).cuts] == [[0, 4, 6], [0, 2, 3]]


def test_nothing_stands_for_zeros():
    sharding = by_rows([(3,), (2,)], 2)
    packed = sharding.pack([None, torch.tensor([1.0, 2.0])], torch.full((2 * sharding.n,), 9.0))
    assert packed.tolist() == [0, 0, 1, 0, 2, 0]
