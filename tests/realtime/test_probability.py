"""Tails, votes and availability: against sampling, scipy and arithmetic by hand; and where they mislead."""

import math

import numpy as np
import pytest
from scipy.stats import genpareto

from reference.realtime.probability import (
    LatencyDistribution,
    at_most_one_late,
    availability,
    chain,
    fit_tail,
    in_parallel,
    in_series,
    minutes_down,
    two_of_three,
)  # fmt: skip

RNG = np.random.default_rng(1)


def test_a_sum_by_hand():
    die = LatencyDistribution.of([1, 2, 3, 4, 5, 6], 1)
    two = chain([die, die])
    assert two.chances[7] == pytest.approx(6 / 36) and two.chances.sum() == pytest.approx(1)
    assert two.exceeds(11) == pytest.approx(1 / 36) and two.percentile(0.97) == 11
    assert die.percentile(0.5) == 3 and die.exceeds(6) == 0
    first = die.fastest(2)  # the smaller of two dice
    assert first.chances[1] == pytest.approx(11 / 36) and first.chances.sum() == pytest.approx(1)


def test_convolution_equals_sampling_of_independent_parts():
    parts = [RNG.lognormal(mean, 0.5, 20_000) for mean in (2.0, 3.0, 3.5)]
    ours = chain([LatencyDistribution.of(part, 0.25) for part in parts])
    shuffled = sum(RNG.permutation(part) for part in parts)
    for share in (0.5, 0.9, 0.99):
        assert ours.percentile(share) == pytest.approx(np.quantile(shuffled, share), rel=0.03)


def test_percentiles_do_not_add_and_dependence_matters():
    """Same parts, three joint distributions: the sum's P99 is below, at and above the sum of the parts' P99."""
    part = LatencyDistribution.of(np.sort(RNG.lognormal(3, 0.6, 10_000)), 0.5)
    sum_of_p99 = 3 * part.percentile(0.99)
    assert chain([part] * 3).percentile(0.99) < 0.85 * sum_of_p99  # independent
    samples = np.sort(RNG.lognormal(3, 0.6, 10_000))
    together = LatencyDistribution.of(3 * samples, 0.5)  # all slow at once
    assert together.percentile(0.99) == pytest.approx(sum_of_p99, rel=0.05)
    heavy = LatencyDistribution.of([1] * 992 + [100] * 8, 1)  # 0.8 % of a slow mode: P99 of each is 1
    assert heavy.percentile(0.99) == 1 and chain([heavy] * 3).percentile(0.99) == 102 > 3


def test_the_bound_without_independence_holds():
    a, b = RNG.gamma(2, 5, 5000), RNG.gamma(3, 4, 5000)
    parts = [LatencyDistribution.of(sample, 0.1) for sample in (a, b)]
    latency, chance = at_most_one_late(parts, 0.95)
    assert chance == pytest.approx(0.1, abs=0.01)
    for first, second in ((a, b), (np.sort(a), np.sort(b)), (np.sort(a), np.sort(b)[::-1])):
        assert np.mean(first + second > latency) <= chance


def test_a_tail_is_found_again():
    for shape in (-0.2, 0.0, 0.2):
        samples = genpareto.rvs(shape, scale=3, size=60_000, random_state=RNG)
        fit = fit_tail(samples, 0.9)
        assert fit.shape == pytest.approx(shape, abs=0.06)
        true = genpareto.isf(1e-4, shape, scale=3)
        assert fit.level(1e-4) == pytest.approx(true, rel=0.2)
        assert fit.exceeds(fit.level(1e-4)) == pytest.approx(1e-4)
        theirs = genpareto.fit(samples[samples > fit.threshold] - fit.threshold, floc=0)
        assert fit.shape == pytest.approx(theirs[0], abs=0.05) and fit.scale == pytest.approx(theirs[2], rel=0.06)


def test_a_rare_mode_that_was_not_seen_is_in_no_fit():
    """One in 20,000 takes 50 times as long: a fit of 5,000 samples without it gives it a chance of next to nothing."""
    fit = fit_tail(10 + RNG.exponential(1, 5_000))
    assert fit.exceeds(500) < 1e-9 < 1 / 20_000
    with pytest.raises(ValueError, match="at least 50 samples"):
        fit_tail(np.arange(100.0), 0.95)
    with pytest.raises(ValueError, match="above its threshold"):
        fit.exceeds(0)
    with pytest.raises(ValueError, match="chance above 0"):
        fit.level(0.5)


def test_two_of_three_and_a_common_cause():
    p = 1e-3
    assert two_of_three(p) == pytest.approx(3 * p**2 - 2 * p**3)
    assert two_of_three(p, common=0.1) > 0.1 * p  # a tenth of the failures is what is left: 30 times more
    assert two_of_three(p, common=0.1) / two_of_three(p) > 30
    assert two_of_three(p, common=1) == pytest.approx(p)
    units = RNG.random((400_000, 3)) < 0.1 * 0.8
    both = units | (RNG.random((400_000, 1)) < 0.1 * 0.2)
    assert np.mean(both.sum(1) >= 2) == pytest.approx(two_of_three(0.1, 0.2), rel=0.03)
    assert two_of_three(0.5, 0.5) == pytest.approx(0.25 + 0.75 * (3 * 0.25**2 * 0.75 + 0.25**3))
    assert two_of_three(0.6) > 0.6  # votes of units that fail more often than not are worse than one


def test_availability_of_five_nines_and_fewer():
    """Exercise 25.8: 99.995 % is 26.3 minutes a year, and not below 26."""
    assert minutes_down(0.99995) == pytest.approx(26.298) and minutes_down(0.9999) == pytest.approx(52.596)
    assert availability(1000, 1) == pytest.approx(1000 / 1001)
    assert in_series([0.999] * 3) == pytest.approx(0.997003) and in_parallel([0.99, 0.99]) == pytest.approx(0.9999)
    assert in_parallel([0.99] * 3, common=1e-4) < 0.9999
    alone, three, tied = (  # computer and power of chapter 14, and one link, three, three with a common cause
        1 - in_series([0.9999, in_parallel([0.999] * 2), links])
        for links in (0.99, in_parallel([0.99] * 3), in_parallel([0.99] * 3, common=1e-3))
    )
    assert 10 < tied / three < 11 and 9 < alone / tied < 10  # ten times as long down, and still a ninth of one link's
    assert math.isclose(minutes_down(1), 0)
    with pytest.raises(ValueError, match="above 0"):
        availability(0, 1)
    with pytest.raises(ValueError, match="got 1"):
        two_of_three(1.0)


def test_what_is_no_distribution():
    with pytest.raises(ValueError, match="at least 0"):
        LatencyDistribution.of([-1], 1)
    with pytest.raises(ValueError, match="one grid"):
        LatencyDistribution.of([1], 1) + LatencyDistribution.of([1], 2)
