"""Slow, stuck and dead ranks: told apart by what their heartbeats carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.failures.heartbeat import FixedTimeout
from reference.failures.stragglers import Watcher, behind, deviations, largest_deviation, robust_deviations


@given(st.lists(st.floats(0.1, 1e6), min_size=3, max_size=30))
def test_no_value_is_further_from_the_mean_than_the_bound(values):
    assert deviations(values).max() <= largest_deviation(len(values)) + 1e-6


def test_a_rule_of_three_deviations_never_fires_with_ten_ranks():
    for ranks in range(2, 40):
        seconds = np.ones(ranks)
        seconds[0] = 1e9
        assert deviations(seconds)[0] == pytest.approx(largest_deviation(ranks))
        assert (deviations(seconds)[0] > 3) == (ranks > 10)


def test_the_robust_rule_sees_one_slow_rank_of_four():
    assert robust_deviations([1.0, 1.02, 0.98, 1.5]).argmax() == 3
    assert robust_deviations([1.0, 1.02, 0.98, 1.5]).max() > 3.5
    assert robust_deviations([1.0, 1.0, 1.0, 1.005]).max() < 3.5  # equal but for half a percent


def test_two_stragglers_hide_each_other_from_the_mean_and_not_from_the_median():
    seconds = np.random.default_rng(0).normal(1.0, 0.02, 16)
    seconds[[3, 7]] = 1.5, 1.6
    assert (deviations(seconds) > 3).sum() == 0
    assert list(np.flatnonzero(robust_deviations(seconds) > 3.5)) == [3, 7]


def test_equal_values_deviate_by_nothing():
    assert not deviations([2.0] * 5).any() and not robust_deviations([2.0] * 5).any()


def test_who_all_wait_for():
    assert behind([7, 7, 6, 7]) == [2]
    assert behind([7, 7, 7]) == []


def watched(**options):
    return Watcher(4, lambda: FixedTimeout(3.0), stuck=5.0, **options)


def test_four_fates():
    """Rank 0 is fine, rank 1 slow, rank 2 stuck (its heartbeats go on), rank 3 dead."""
    watcher = watched()
    for second in range(1, 21):
        for rank in range(4):
            if rank == 3 and second > 12:
                continue
            entered = min(second, 10) + (second > 10 and rank != 2)  # from the 11th on, all wait for rank 2
            watcher.heartbeat(rank, float(second), entered, 1.5 if rank == 1 else 1.0 + 0.01 * rank)
        if second == 13:
            assert watcher.standing(2, 13.5) == "fine"  # it may still come
    assert [watcher.standing(rank, 20.5) for rank in range(4)] == ["fine", "slow", "stuck", "dead"]


def test_a_hiccup_is_no_straggler():
    watcher = watched()
    for second in range(1, 10):
        for rank in range(4):
            watcher.heartbeat(rank, float(second), second, 1.5 if rank == 1 and second in (4, 5, 7, 8) else 1.0)
        assert watcher.standing(1, second + 0.5) == "fine"


def test_in_synchronous_training_busy_seconds_tell_and_the_steps_length_does_not():
    """All ranks wait for the slow one, so that their steps are equally long."""
    for told, standing in (([1.5, 1.5, 1.5, 1.5], "fine"), ([1.0, 1.5, 1.0, 1.0], "slow")):
        watcher = watched()
        for second in range(1, 6):
            for rank in range(4):
                watcher.heartbeat(rank, float(second), second, told[rank])
        assert watcher.standing(1, 5.5) == standing
