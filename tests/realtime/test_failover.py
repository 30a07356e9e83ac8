"""Failover: the bound holds and is approached; patience costs time, impatience replaces what lives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.realtime.failover import failover_bound, failover_times, false_takeover


@given(
    period=st.floats(1, 1e3), patience=st.floats(0, 1e3), switch=st.floats(0, 1e4), misses=st.integers(1, 5),
    silent=st.floats(0, 1e4),
)  # fmt: skip
def test_no_failover_takes_longer_than_the_bound(period, patience, switch, misses, silent):
    (seen,) = failover_times(np.array([silent]), period, patience, switch, misses)
    bound = failover_bound(period, patience, switch, misses)
    assert bound - period - 1e-6 <= seen <= bound + 1e-6


def test_the_bound_is_approached_just_after_a_release():
    just_after = np.array([0.0, 1e-6, 50.0])
    assert failover_times(just_after, 100, 55) == pytest.approx([55, 155, 105], abs=1e-5)
    assert failover_bound(100, 55) == 155
    assert failover_bound(100, 55, switch=40, misses=3) == 395


def standby_hears(late, misses):
    """Play releases one after the other: after how many in a row without an answer in time the standby has acted."""
    row, acted = 0, 0
    for each in late:
        row = row + 1 if each else 0
        acted += row >= misses
    return acted / len(late)


@pytest.mark.parametrize("misses", [1, 2, 3])
def test_false_takeovers_are_as_frequent_as_played(misses):
    late = np.random.default_rng(0).random(400_000) < 0.1
    assert standby_hears(late, misses) == pytest.approx(false_takeover(0.1, misses), rel=0.1)


def test_what_is_no_time_and_no_chance_is_refused():
    for bad in ({"period": 0}, {"patience": -1}, {"switch": -1}, {"misses": 0}):
        with pytest.raises(ValueError, match="times of 0 or more, misses of 1 or more"):
            failover_bound(**{"period": 100, "patience": 55} | bad)
    with pytest.raises(ValueError, match="a chance from 0 to 1, got 2"):
        false_takeover(2)
