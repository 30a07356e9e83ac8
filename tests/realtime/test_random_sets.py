"""Random sets: the sum is right, the distribution is even, and nothing is above its limit."""

from collections import Counter
from itertools import product
from random import Random

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp

from reference.realtime import fixed_priority
from reference.realtime.random_sets import bounded_sum, fixed_sum, task_set, uunifast, uunifast_discard
from reference.realtime.tasks import utilisation


def test_sums():
    rng = Random(1)
    for draw, n, total in ((uunifast, 5, 0.9), (uunifast_discard, 6, 2.0), (fixed_sum, 8, 5.5), (fixed_sum, 3, 0.4)):
        found = draw(n, total, rng)
        assert len(found) == n and sum(found) == pytest.approx(total) and min(found) >= 0
        assert draw is uunifast or max(found) <= 1
    assert fixed_sum(3, 3, rng) == [1, 1, 1] and uunifast(1, 0.5, rng) == [0.5]


def test_uunifast_is_even():
    """Each number's mean is U / n, and its second moment that of the simplex; scaled random numbers have less."""
    rng, n = Random(2), 4
    drawn = np.array([uunifast(n, 1.0, rng) for _ in range(6000)])
    scaled = np.array([[rng.random() for _ in range(n)] for _ in range(6000)])
    scaled /= scaled.sum(1, keepdims=True)
    assert np.allclose(drawn.mean(0), 1 / n, atol=0.01)
    assert np.allclose((drawn**2).mean(0), 2 / (n * (n + 1)), atol=0.008)
    assert ((scaled**2).mean(0) < 0.085).all()  # the planted mistake: 0.1 is right


def test_a_fixed_sum_is_as_even_as_discarding():
    rng = Random(3)
    for n, total in ((3, 1.4), (4, 2.5)):
        ours = np.array([fixed_sum(n, total, rng) for _ in range(300)])
        kept = np.array([uunifast_discard(n, total, rng) for _ in range(1500)])
        for place in range(n):
            assert ks_2samp(ours[:, place], kept[:, place]).pvalue > 1e-3
        assert ks_2samp(ours.max(1), kept.max(1)).pvalue > 1e-3


def test_each_limit_is_kept_and_every_point_of_the_grid_is_as_likely():
    rng, most = Random(4), (4, 2, 3)
    points = [point for point in product(*(range(one + 1) for one in most)) if sum(point) == 5]
    drawn = Counter(
        tuple(round(4 * value) for value in bounded_sum([one / 4 for one in most], 1.25, rng, 4)) for _ in range(4000)
    )
    assert set(drawn) == set(points)
    assert chisquare([drawn[point] for point in points]).pvalue > 1e-3
    one_after_the_other = Counter(_scaled_back(most, 5, rng) for _ in range(4000))
    assert chisquare([one_after_the_other[point] for point in points]).pvalue < 1e-6  # the planted mistake


def _scaled_back(most, left, rng):
    """What is often written: each value even between what it may and must be, in turn."""
    found = []
    for place, limit in enumerate(most):
        value = rng.randint(max(0, left - sum(most[place + 1 :])), min(limit, left))
        found.append(value)
        left -= value
    return tuple(found)


def test_limits_of_each_task_are_as_even_as_throwing_away():
    rng, limits = Random(5), (0.9, 0.5, 0.3, 0.2)
    ours = np.array([bounded_sum(limits, 0.8, rng) for _ in range(1000)])
    kept = []
    while len(kept) < 1000:
        values = uunifast(4, 0.8, rng)
        if all(value <= limit for value, limit in zip(values, limits)):
            kept.append(values)
    assert np.allclose(ours.sum(1), 0.8) and (ours <= limits).all()
    for place in range(4):
        assert ks_2samp(ours[:, place], np.array(kept)[:, place]).pvalue > 1e-3


def test_a_set_has_what_was_asked_for():
    tasks = task_set(20, 0.7, Random(4), deadlines=(0.6, 0.9))
    assert float(utilisation(tasks)) == pytest.approx(0.7, abs=0.01)
    assert [task.period for task in tasks] == sorted(task.period for task in tasks)
    assert all(task.execution <= task.deadline <= 0.91 * task.period for task in tasks if task.execution < 100)
    assert all(task.period % 500 == 0 for task in task_set(9, 0.7, Random(4), grid=500))
    many = task_set(8, 3.5, Random(5), processors=4)
    assert float(utilisation(many)) == pytest.approx(3.5, abs=0.01) and max(task.utilisation for task in many) <= 1
    assert task_set(5, 0.5, Random(6)) == task_set(5, 0.5, Random(6))
    assert fixed_priority(task_set(10, 0.6, Random(7)))


def test_what_cannot_be_is_refused():
    for draw in (uunifast_discard, fixed_sum):
        with pytest.raises(ValueError, match="cannot sum to 4"):
            draw(3, 4.0, Random(0))
    for limits, total in (((0.5, 0.2), 0.8), ((), 0.0), ((0.5, -0.1), 0.2)):
        with pytest.raises(ValueError, match="cannot sum to"):
            bounded_sum(limits, total, Random(0))
    with pytest.raises(ValueError, match="got 0 tasks"):
        uunifast(0, 0.5, Random(0))
    with pytest.raises(ValueError, match="none of 5 tuples"):
        uunifast_discard(30, 15.0, Random(0), tries=5)
    with pytest.raises(ValueError, match="shorter first"):
        task_set(3, 0.5, Random(0), periods=(10, 5))
