"""The sampler: nothing dropped, nothing repeated, for any samples, sizes, ranks; the same whoever asks."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.models import Data, batch, batch_indices, digits, share

COUNTS = st.integers(1, 40)
SEEDS = st.integers(0, 2**63)


@given(samples=COUNTS, size=COUNTS, ranks=COUNTS, epoch=st.integers(0, 3), seed=SEEDS)
def test_in_an_epoch_every_sample_is_seen_by_one_rank_once(samples, size, ranks, epoch, seed):
    steps = -(-samples // size)
    data = Data(torch.arange(samples), torch.arange(samples))
    seen = []
    for step in range(epoch * steps, (epoch + 1) * steps):
        parts = [batch(data, size, step, seed, rank, ranks) for rank in range(ranks)]
        assert torch.equal(torch.cat([part.x for part in parts]), batch(data, size, step, seed).x)
        seen += [number for part in parts for number in part.x.tolist()]
    assert sorted(seen) == list(range(samples))


@given(items=st.integers(0, 100), ranks=COUNTS)
def test_shares_are_even_contiguous_and_the_first_are_the_larger(items, ranks):
    shares = [share(range(items), rank, ranks) for rank in range(ranks)]
    assert [number for part in shares for number in part] == list(range(items))
    lengths = [len(part) for part in shares]
    assert sorted(lengths, reverse=True) == lengths and lengths[0] - lengths[-1] <= 1


def test_all_batches_but_an_epochs_last_are_full():
    assert [len(batch_indices(10, 4, step)) for step in range(7)] == [4, 4, 2, 4, 4, 2, 4]


def test_every_epoch_and_every_seed_has_its_own_order():
    orders = [batch_indices(50, 50, step, seed) for seed in (0, 1, 2) for step in (0, 1, 2)]
    assert not any(torch.equal(first, second) for first, second in pairwise(orders))
    assert len({tuple(order.tolist()) for order in orders}) == 9
    assert torch.equal(batch_indices(50, 50, 1, 2), orders[7])


def test_a_batch_goes_with_its_targets():
    data = digits()
    mine = batch(data, 32, 100, seed=1, rank=2, ranks=3)
    rows = batch_indices(1437, 32, 100, seed=1)[22:]
    assert torch.equal(mine.x, data.x[rows]) and torch.equal(mine.y, data.y[rows]) and len(rows) == 10
    mine.x[:] = 9
    assert data.x.max() == 1  # a copy


@pytest.mark.parametrize("samples, size", [(10, 0), (0, 4), (10, -1)])
def test_a_batch_of_nothing_is_refused(samples, size):
    with pytest.raises(ValueError, match=f"at least 1 sample, got size={size} of samples={samples}"):
        batch_indices(samples, size, 0)


@pytest.mark.parametrize("rank", [3, -1])
def test_a_rank_that_is_not_there_is_refused(rank):
    with pytest.raises(ValueError, match=f"numbered 0 to 2, got rank={rank}"):
        share(range(10), rank, 3)
