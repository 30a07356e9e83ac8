"""Heartbeats: what a timeout must contain, and what it costs in false alarms and in waiting."""

import numpy as np
import pytest

from reference.failures.heartbeat import AdaptiveTimeout, FixedTimeout, arrivals, judge, measured, sent

COUNT = 5000


def rng(seed=0):
    return np.random.default_rng(seed)


def test_heartbeats_due_in_a_pause_come_at_its_end():
    assert list(sent(1.0, 6, [(1.5, 3.5)])) == [1.0, 3.5, 3.5, 4.0, 5.0, 6.0]


def test_heartbeats_arrive_in_order():
    assert list(arrivals(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.5, 0.1]))) == [1.0, 3.5, 3.5]


def test_interval_plus_the_largest_delay_never_suspects_the_living():
    times = sent(1.0, COUNT)
    arrived = arrivals(times, rng().uniform(0.0, 0.3, COUNT))
    assert judge(FixedTimeout(1.3), times, arrived).alarms == 0
    assert judge(FixedTimeout(1.1), times, arrived).alarms > 0


def test_what_is_counted():
    """Silence of 3.5 s, a timeout of 2: one alarm, 1.5 s wrong. With 0.25 s of delay a death is noticed after 2.25."""
    times = np.array([1.0, 2.0, 5.5, 6.0])
    quality = judge(FixedTimeout(2.0), times, times + 0.25, skip=0)
    assert tuple(quality) == (1, 1.5, 2.25, 2.25)
    assert judge(FixedTimeout(2.0), times, times + 0.25, skip=3).alarms == 0


def test_e1_37_a_timeout_without_the_interval_suspects_in_every_interval():
    """alpha * RTT + beta * sigma, with round trips of 1 ms and heartbeats once a second."""
    trips = rng().normal(1e-3, 1e-4, COUNT)
    times = sent(1.0, COUNT)
    arrived = arrivals(times, trips / 2)
    timeout = 2 * trips.mean() + 4 * trips.std()
    assert judge(FixedTimeout(timeout), times, arrived, skip=0).alarms == COUNT
    assert judge(FixedTimeout(1.0 + timeout), times, arrived).alarms == 0


def test_an_adaptive_timeout_follows_the_network():
    """Delays grow twentyfold: it waits longer, and less so when they shrink again."""
    delays = np.concatenate([rng(part).exponential(scale, COUNT) for part, scale in enumerate((0.005, 0.1, 0.005))])
    times = sent(1.0, len(delays))
    detector, waits = AdaptiveTimeout(1.0), []
    for at, arrived in zip(times, arrivals(times, delays)):
        detector.arrived(arrived)
        waits.append(detector.deadline - at)
    calm, loaded, after = (np.mean(waits[start + 100 : start + COUNT]) for start in (0, COUNT, 2 * COUNT))
    assert calm < 1.05 and loaded > 1.4 and after == pytest.approx(calm, rel=0.01)


def test_an_adaptive_timeout_learns_the_interval_and_has_a_smallest_margin():
    detector = AdaptiveTimeout(5.0, least=0.2)
    for at in range(1, 200):
        detector.arrived(float(at))
    assert detector.deadline == pytest.approx(199 + 1.2)


def test_a_thread_that_beats_is_held_up_by_the_main_thread():
    """A sort keeps the interpreter for itself. No limit on real seconds: only that heartbeats get fewer."""
    numbers = list(rng().random(150_000))
    busy = measured(0.005, 0.3, lambda: sorted(numbers))
    assert busy.max() > 4 * 0.005
