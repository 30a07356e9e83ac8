"""Work dealt by tokens: balanced, nothing lost, and the gradient is what it was."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.data_parallel.average import average_gradients
from reference.data_parallel.sequence_lengths import batches_by_tokens, deal, imbalance, loads, padding, sequence_work
from reference.models.batches import share
from reference.models.seeds import generator
from reference.worlds import launch

LENGTHS = st.lists(st.integers(1, 50), min_size=1, max_size=30)


def drawn(n=64, seed=0):
    """Lengths with a long tail: log-normal, median 200 tokens, at most 2,048."""
    return torch.randn(n, generator=generator(seed)).mul(0.8).exp().mul(200).clamp(1, 2048).int().tolist()


def test_by_hand():
    assert deal([5, 4, 3, 3, 3], 2) == [[0, 3], [1, 2, 4]] and loads([5, 4, 3, 3, 3], [[0, 3], [1, 2, 4]]) == [8, 10]
    assert imbalance([8, 10]) == pytest.approx(10 / 9) and imbalance([4, 0, 0, 0]) == 4.0
    assert sequence_work([60, 120]) == [60, 120] and sequence_work([60, 120], width=10) == [120, 360]
    assert sorted(batches_by_tokens([3, 9, 3, 4, 10], 12, generator(0))) == [[0, 2, 3], [1], [4]]
    assert padding([3, 9, 3, 4, 10], [[0, 2, 3], [1], [4]]) == pytest.approx(2 / 31)


@given(LENGTHS, st.integers(1, 6))
def test_each_sequence_once(lengths, ranks):
    assert sorted(i for own in deal(lengths, ranks) for i in own) == list(range(len(lengths)))
    batches = batches_by_tokens(lengths, 60, generator(1))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 60 for batch in batches)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=7), st.integers(1, 3))
def test_within_grahams_bound_of_the_best(costs, ranks):
    best = min(
        max(sum(c for c, rank in zip(costs, way) if rank == own) for own in range(ranks))
        for way in product(range(ranks), repeat=len(costs))
    )
    assert max(loads(costs, deal(costs, ranks))) <= (4 / 3 - 1 / (3 * ranks)) * best + 1e-9


def test_equal_numbers_of_samples_are_not_equal_work():
    """64 sequences on 8 ranks: by samples a step takes 1.61 times as long as it had to, dealt by work 1.03 times."""
    costs = [sequence_work(drawn(seed=seed), width=1024) for seed in range(20)]
    by_samples = [imbalance(loads(each, [share(range(64), rank, 8) for rank in range(8)])) for each in costs]
    by_work = [imbalance(loads(each, deal(each, 8))) for each in costs]
    assert sum(by_samples) / 20 == pytest.approx(1.61, abs=0.01)
    assert sum(by_work) / 20 == pytest.approx(1.03, abs=0.01)


def test_sorting_by_length_saves_padding():
    lengths = drawn(512)
    as_drawn = [range(first, first + 8) for first in range(0, 512, 8)]
    batches = batches_by_tokens(lengths, 4096, generator(2))
    assert padding(lengths, as_drawn) == pytest.approx(0.61, abs=0.01) and padding(lengths, batches) < 0.05
    assert [max(lengths[i] for i in b) for b in batches] != sorted(max(lengths[i] for i in b) for b in batches)


def test_whoever_does_which_sequence_the_gradient_is_the_same():
    lengths = drawn(12)
    tokens = [torch.randn(s, 4, generator=generator(3, i)) for i, s in enumerate(lengths)]

    def program(comm, lists):
        weight = torch.zeros(4, requires_grad=True)
        mine = torch.cat([torch.zeros(0, 4), *[tokens[i] for i in lists[comm.rank]]])
        (mine * weight).sum().backward()
        average_gradients(comm, [weight], len(mine))
        return weight.grad

    plain, dealt = [share(range(12), rank, 5) for rank in range(5)], deal(lengths, 5)
    first, second = (launch(program, 5, lists).results[0] for lists in (plain, dealt))
    torch.testing.assert_close(first, torch.cat(tokens).mean(0))
    torch.testing.assert_close(second, first)
