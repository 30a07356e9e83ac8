"""Spares: binomial tails against SciPy and against draws; exercise 25.6."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from reference.failures.spares import (
    down,
    draw,
    draw_groups,
    group_fails,
    groups_fail,
    none_fails,
    pool_fails,
    repaired,
    spares_for,
)


@given(st.integers(1, 3000), st.integers(0, 20), st.floats(1e-9, 0.3))
def test_a_pool_is_the_tail_of_the_binomial_distribution(workers, spares, chance):
    right = binom.sf(spares, workers + spares, chance)
    assert pool_fails(workers, spares, chance) == pytest.approx(right, rel=1e-6, abs=1e-300)


def test_without_spares():
    assert pool_fails(2048, 0, 1e-4) == pytest.approx(1 - none_fails(2048, 1e-4))
    assert pool_fails(10, 3, 0.0) == pool_fails(0, 3, 0.5) == 0


def test_two_of_three():
    p = 0.01
    assert group_fails(p) == pytest.approx(3 * p**2 - 2 * p**3)
    assert groups_fail(1, p) == pytest.approx(group_fails(p))


def test_draws_agree():
    rng = np.random.default_rng(0)
    assert draw(100, 2, 0.01, 200_000, rng).failed == pytest.approx(pool_fails(100, 2, 0.01), rel=0.05)
    assert draw_groups(50, 0.03, 20_000, rng).failed == pytest.approx(groups_fail(50, 0.03), rel=0.05)


def test_nodes_that_fail_together_need_spare_nodes():
    """Four spare devices are no use if eight fail at a time, and a spare node is."""
    rng = np.random.default_rng(1)
    assert draw(256 * 8, 4, 1e-3, 100_000, rng, together=8).failed == pytest.approx(pool_fails(257, 0, 1e-3), rel=0.05)
    assert draw(256 * 8, 8, 1e-3, 100_000, rng, together=8).failed == pytest.approx(pool_fails(256, 1, 1e-3), rel=0.05)


def test_a_pool_with_repair_is_the_same_formula():
    """The part of the time that more than two of 22 machines are down."""
    assert down(100.0, 25.0) == pytest.approx(0.2)
    counted = repaired(22, 2, 100.0, 5.0, 60_000.0, np.random.default_rng(2))
    assert counted.failed == pytest.approx(pool_fails(20, 2, down(100.0, 5.0)), rel=0.1)


def test_spares_for_a_target():
    spares = spares_for(2048, 1e-4, 1e-6)
    assert pool_fails(2048, spares, 1e-4) <= 1e-6 < pool_fails(2048, spares - 1, 1e-4)
    assert spares_for(10, 0.0, 1e-9) == 0


def test_bad_values_are_refused():
    for values in ((10, 1, 1.0), (10, -1, 0.1), (-1, 1, 0.1)):
        with pytest.raises(ValueError, match="a chance in"):
            pool_fails(*values)
    with pytest.raises(ValueError, match="target"):
        spares_for(10, 0.1, 0.0)


# What is often claimed ------------------------------------------------------------------------------------------------


def test_e1_05_the_mean_follows_from_the_machines():
    """Hours, 24 h or 4.9 days are no contradiction and no constant: one device's rate times how many there are."""
    from reference.failures.published import runs

    assert pytest.approx(4.88, abs=0.01) == 1 / (2048 * 1e-4)  # days
    llama = runs()[0]
    assert llama.mtbf() == pytest.approx(3.09, abs=0.01)  # hours
    assert llama.mtbf(2048) == pytest.approx(24.7, abs=0.1)


def test_e1_55_pairs_with_a_spare_each():
    """2048 workers in pairs are 1024 groups and 3072 machines; 683 groups would be 2048 in all."""
    assert 1 - none_fails(2048, 1e-4) == pytest.approx(0.185, abs=5e-4)
    assert groups_fail(1024, 1e-4) == pytest.approx(3.07e-5, rel=1e-3)
    assert groups_fail(2048 // 3 + 1, 1e-4) == pytest.approx(2.05e-5, rel=1e-2)  # what is claimed, with too few workers
    assert spares_for(2048, 1e-4, groups_fail(1024, 1e-4)) == 4  # in place of 1024
    assert pool_fails(2048, 3, 1e-4) > groups_fail(1024, 1e-4)


def test_e1_56_a_ratio_of_failures_is_not_one_of_reliabilities():
    alone, paired = none_fails(2048, 1e-4), 1 - groups_fail(1024, 1e-4)
    assert (1 - alone) / (1 - paired) == pytest.approx(6029, abs=1)  # and not 9000
    assert paired / alone == pytest.approx(1.227, abs=1e-3)
