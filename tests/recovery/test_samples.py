"""Which samples come next: each once an epoch, whatever the batches were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.recovery.samples import next_samples


@given(st.integers(1, 40), st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(0, 9))
def test_batches_of_any_sizes_take_each_sample_once_an_epoch(samples, sizes, seed):
    position, seen = 0, np.zeros(samples, int)
    for size in sizes:
        taken = next_samples(samples, size, position, seed)
        assert 1 <= len(taken) <= size
        position += len(taken)
        np.add.at(seen, taken, 1)
        assert seen.max() - seen.min() <= 1
        assert seen.sum() == position


def test_epochs_have_their_own_orders():
    first, second = (next_samples(50, 50, position).tolist() for position in (0, 50))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second


@pytest.mark.parametrize("bad", [(0, 1, 0), (5, 0, 0), (5, 1, -1)])
def test_what_cannot_be_is_refused(bad):
    with pytest.raises(ValueError, match="a batch needs a sample"):
        next_samples(*bad)
