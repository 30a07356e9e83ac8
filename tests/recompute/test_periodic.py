"""Every k-th value: the schedule's bytes are the formula's, and the best k is beside the root."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.recompute import equal_links
from reference.recompute.periodic import best_period, period, periodic, periodic_bytes
from reference.recompute.predict import cost, timeline


@pytest.mark.parametrize("n, k, internals", [(12, 3, 4), (12, 4, 0), (16, 4, 9), (100, 10, 0)])
def test_kept_bytes_are_the_formulas(n, k, internals):
    """Values before the other segments, and the records of one, just before the first backward pass."""
    steps = timeline(equal_links(n, internals=internals), periodic(n, k))
    begin = next(step for step in steps if step.operation.kind == "backward")
    assert begin.before == periodic_bytes(n, k, 1, 1 + internals) - 1  # a[0] is the caller's


@pytest.mark.parametrize("n, k", [(1, 1), (7, 3), (8, 4), (9, 9)])
def test_links_are_computed_twice_but_for_the_last_segment(n, k):
    last = n - (n - 1) // k * k
    assert cost(equal_links(n), periodic(n, k)).forwards == 2 * n - last


@given(st.integers(1, 60), st.integers(1, 50), st.integers(1, 500))
def test_no_period_needs_less_than_the_best(n, value, record):
    found = best_period(n, value, record)
    assert periodic_bytes(n, found, value, record) == min(periodic_bytes(n, k, value, record) for k in range(1, n + 1))


def test_a_hundred_links_take_twenty():
    assert period(100, 1, 1) == best_period(100, 1, 1) == 10 and periodic_bytes(100, 10, 1, 1) == 20
    assert period(96, 2, 68) == period(96, 2e9, 68e9) < 2  # links that leave much: short segments, whatever the unit


@pytest.mark.parametrize("k", [0, 5])
def test_a_segment_of_no_links(k):
    with pytest.raises(ValueError, match="a segment has 1 to 4 links"):
        periodic(4, k)
