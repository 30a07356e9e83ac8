"""How many copies remain, and with which batch and learning rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.data_parallel.learning_rate import square_root
from reference.recovery.elastic import resized


def test_e1_39_whole_copies_remain():
    """2,047 of 2,048 ranks live, and a copy takes 128: 15 copies on 1,920 ranks, not 2,047 / 2,048 of them."""
    size = resized(2047, 128, 16, batch=1024, rate=3e-4, most=64)
    assert (size.copies, size.spares, size.copies * 128) == (15, 127, 1920)
    assert 2048 * 2047 / 2048 / 128 == 15.9921875


@given(st.integers(1, 3000), st.integers(1, 64), st.integers(1, 500), st.integers(1, 32))
def test_the_batch_is_kept_and_fits(alive, N, batch, most):
    if alive < N:
        with pytest.raises(ValueError, match="wait for spares"):
            resized(alive, N, 4, batch, 0.1, most)
        return
    size = resized(alive, N, 4, batch, 0.1, most)
    assert size.copies * N + size.spares == alive and size.spares < N
    assert (size.batch, size.rate) == (batch, 0.1)
    assert size.copies * size.micro_batches * most >= batch


@pytest.mark.parametrize(("rule", "rate"), [({}, 0.3), ({"rule": square_root}, 0.4 * 0.75**0.5)])
def test_a_kept_share_changes_batch_and_rate(rule, rate):
    size = resized(7, 2, 4, batch=64, rate=0.4, most=8, keep="share", **rule)
    assert (size.copies, size.spares, size.batch, size.micro_batches) == (3, 1, 48, 2)
    assert size.rate == pytest.approx(rate)


def test_another_rule_is_refused():
    with pytest.raises(ValueError, match="'batch' or 'share'"):
        resized(2, 1, 2, 8, 0.1, 8, keep="both")
