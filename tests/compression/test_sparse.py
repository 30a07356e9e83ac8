"""Sparse codecs: exactly these elements, exactly these bytes."""

import pytest
import torch

from reference.compression import random_k, roundtrip, seeded_random_k, threshold, top_k
from reference.compression.sparse import from_wire, kept_count, sparse_bytes, to_wire
from reference.models import generator

X = torch.tensor([0.1, -3.0, 2.0, 0.0, -2.0, 0.5])


def test_top_k_keeps_exactly_k_of_equals_too():
    assert roundtrip(top_k(1), X).tolist() == [0, -3, 0, 0, 0, 0]
    y = roundtrip(top_k(2), X)  # 2 and -2 are equally large
    assert y[1] == -3 and y.count_nonzero() == 2 and y.abs().sum() == 5
    assert roundtrip(top_k(4), torch.ones(10)).sum() == 4


def test_k_is_a_number_or_a_share_and_at_least_1_and_at_most_d():
    assert [kept_count(k, 200) for k in (3, 500, 0.01, 0.0001, 1.0, 1)] == [3, 200, 2, 1, 200, 1]


@pytest.mark.parametrize("d, k, nbytes", [(10**6, 10**4, 40_000 + 25_000), (1024, 10, 40 + 13), (1, 1, 4)])
def test_an_index_takes_as_many_bits_as_d_needs(d, k, nbytes):
    assert sparse_bytes(k, d) == nbytes
    indices = torch.randperm(d, generator=generator(1))[:k]
    values = torch.randn(k, generator=generator(2))
    wire = to_wire(values, indices, d)
    assert len(wire) == nbytes and all(map(torch.equal, from_wire(wire, d), (values, indices)))


@pytest.mark.parametrize("d", [1, 2, 3, 100])
def test_the_length_of_a_wire_tells_k(d):
    for k in range(d + 1):
        wire = to_wire(torch.ones(k), torch.arange(k), d)
        assert len(from_wire(wire, d)[0]) == k


def test_any_contiguous_view_can_be_encoded():
    table = torch.randn(4, 50, generator=generator(3))
    assert torch.equal(roundtrip(top_k(5), table[2]), roundtrip(top_k(5), table[2].clone()))
    assert torch.equal(roundtrip(top_k(5), table.view(-1)[7:]), roundtrip(top_k(5), table.view(-1)[7:].clone()))


def test_a_seed_stands_for_the_indices():
    x = torch.randn(1000, generator=generator(3))
    codec = seeded_random_k(10)
    wire = codec.encode(x, generator(4))
    assert len(wire) == 8 + 4 * 10 < random_k(10).nbytes(1000) == 4 * 10 + 13
    y = codec.decode(wire, 1000)
    assert y.count_nonzero() == 10 and torch.allclose(y[y != 0], 100 * x[y != 0])
    other = codec.encode(-2 * x, generator(4))  # another rank, whose generator agrees
    assert torch.equal(other[:8], wire[:8]), "the same elements"
    assert torch.allclose(codec.decode(other, 1000), -2 * y), "so the sum of the values is the wire of the sum"
    assert not torch.equal(codec.encode(x, generator(5))[:8], wire[:8])


def test_a_threshold_sends_what_is_above_it_whole():
    assert roundtrip(threshold(1.0), X).tolist() == [0, -3, 2, 0, -2, 0]
    assert len(threshold(1.0).encode(X)) == sparse_bytes(3, 6) and len(threshold(5.0).encode(X)) == 0
