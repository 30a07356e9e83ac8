"""Phi accrual: the probability that it promises, and when it does not keep it."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from reference.failures.heartbeat import FixedTimeout, arrivals, judge, sent
from reference.failures.phi_accrual import PhiAccrual

COUNT = 30_000


def fed(gaps, **options):
    detector, at = PhiAccrual(1.0, **options), 0.0
    for gap in gaps:
        at += gap
        detector.arrived(at)
    return detector


def test_phi_is_the_logarithm_of_a_normal_tail():
    gaps = np.random.default_rng(0).normal(1.0, 0.1, 500)
    detector = fed(gaps, window=200)
    assert detector.mean == pytest.approx(gaps[-200:].mean())
    assert detector.deviation == pytest.approx(gaps[-200:].std())
    for silence in (0.9, 1.0, 1.3, 1.7):
        tail = norm.sf(silence, gaps[-200:].mean(), gaps[-200:].std())
        assert detector.phi(detector.last + silence) == pytest.approx(-math.log10(tail), rel=1e-6)


@pytest.mark.parametrize("threshold", [0.5, 1.0, 3.0, 8.0, 12.0])
def test_the_deadline_is_where_phi_reaches_the_threshold(threshold):
    detector = fed(np.random.default_rng(1).normal(1.0, 0.1, 100), threshold=threshold, pause=0.5)
    assert detector.phi(detector.deadline) == pytest.approx(threshold, rel=1e-6)


def test_phi_grows_with_silence():
    detector = fed([1.0] * 50)
    values = [detector.phi(detector.last + silence) for silence in (0.5, 1.0, 1.001, 1.005, 100.0)]
    assert values == sorted(values) and values[-1] == math.inf


def test_a_very_regular_sender_is_not_suspected_at_once():
    assert fed([1.0] * 300, window=100, least=0.05).deviation == pytest.approx(0.05)


def test_before_the_second_heartbeat_it_expects_the_interval():
    assert 1.0 < PhiAccrual(1.0).deadline < 3.0


@pytest.mark.parametrize("threshold", [1.0, 2.0, 3.0])
def test_with_normal_gaps_one_in_ten_to_the_phi_is_a_false_alarm(threshold):
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.normal(1.0, 0.05, COUNT))
    alarms = judge(PhiAccrual(1.0, threshold), times, times, skip=1000).alarms
    expected = COUNT * 10**-threshold
    assert abs(alarms - expected) < 5 * math.sqrt(expected) + 0.1 * expected


def test_with_longer_tails_there_are_far_more():
    """Exponential delays: phi = 8 promises one in a hundred million, and it is one in some 5,000."""
    rng = np.random.default_rng(3)
    times = sent(1.0, COUNT)
    alarms = judge(PhiAccrual(1.0, 8.0), times, arrivals(times, rng.exponential(0.02, COUNT)), skip=1000).alarms
    assert 0.5e-4 < alarms / COUNT < 5e-4


def test_under_load_it_adapts_where_a_fixed_timeout_does_not():
    """Delays grow twentyfold: a timeout that was right suspects all the time, phi only while it learns."""
    rng = np.random.default_rng(4)
    delays = np.concatenate([rng.exponential(0.01, 5000), rng.exponential(0.2, 5000)])
    times = sent(1.0, len(delays))
    arrived = arrivals(times, delays)
    fixed, phi = (judge(detector, times, arrived, skip=1000) for detector in (FixedTimeout(1.2), PhiAccrual(1.0)))
    assert fixed.alarms > 500 and phi.alarms < 30
    assert fixed.detection < phi.detection  # the price


def test_an_accepted_pause_moves_the_deadline():
    assert fed([1.0] * 9, pause=3.0).deadline == pytest.approx(fed([1.0] * 9).deadline + 3.0)


def test_bad_values_are_refused():
    for bad in ({"interval": 0.0}, {"threshold": 0.0}, {"window": 1}, {"least": 0.0}, {"pause": -1.0}):
        with pytest.raises(ValueError, match="above 0"):
            PhiAccrual(**{"interval": 1.0, **bad})
