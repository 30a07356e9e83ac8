"""Claims of chapter 13's core page that its cells do not show, each with the run that could refute it."""

import numpy as np
import pytest
from scipy.stats import binom

from reference.failures.interval import exact, slowdown

C, M = 0.5, 24.0  # hours: the page's example


@pytest.mark.parametrize("x", [0.1, 1.0, 3.0])
def test_beginning_again_after_each_failure_takes_as_long_as_the_page_says(x):
    draw = np.random.default_rng(0)
    runs, total = 4000, 0.0
    for _ in range(runs):
        while (failure := draw.exponential(1.0)) < x:  # in units of the mean time between failures
            total += failure
        total += x
    assert total / runs / x == pytest.approx(np.expm1(x) / x, rel=0.08)


def test_the_optimum_is_flat():
    best = slowdown(exact(C, M), C, M)
    assert all(slowdown(T, C, M) < 1.02 * best for T in np.linspace(3, 7, 50))
    assert slowdown(1, C, M) > 1.2 * best and slowdown(12, C, M) > 1.1 * best
    for wrong in (M / 2, 2 * M):
        assert 1.01 * best < slowdown(exact(C, wrong), C, M) < 1.015 * best


@pytest.mark.parametrize("seed", range(3))
def test_four_deviations_are_too_few_where_pauses_are_rare_and_long(seed):
    draw, n = np.random.default_rng(seed), 86_400
    delay = draw.normal(0.005, 0.002, n).clip(0) + draw.exponential(0.3, n) * (draw.random(n) < 0.01)
    silence = np.diff(np.maximum.accumulate(np.arange(n) + delay))
    assert (silence > 1 + 4 * silence.std()).sum() > 300  # of a normal distribution 3 would be
    assert (silence > 10).sum() == 0


def test_a_shared_spare_is_worth_more():
    N, q = 2048, 1e-4
    pairs = 1 - (1 - binom.sf(1, 3, q)) ** 1024
    assert binom.sf(3, N + 3, q) > pairs > binom.sf(4, N + 4, q)  # 4 spares for all, or 1,024 of pairs
    assert (1 - (1 - q) ** N) / pairs == pytest.approx(6000, rel=0.01)
    assert (1 - pairs) / (1 - q) ** N == pytest.approx(1.2, abs=0.03)


def test_what_is_saved_of_llama_3():
    parameters = 405e9
    assert [round(each * parameters / 1e12, 1) for each in (12, 14)] == [4.9, 5.7]


def test_restarts_cost_more_where_failures_are_frequent():
    mtbf = 54 * 24 * 3600 / 419
    assert slowdown(1e-3, 1e-9, mtbf, 600) - 1 == pytest.approx(0.055, abs=0.001)
    for wrong in (mtbf / 2, 2 * mtbf):
        assert slowdown(exact(C, M * wrong / mtbf), C, M) < 1.02 * slowdown(exact(C, M), C, M)


def test_a_weight_that_moves_a_little_each_step_is_never_saved_if_the_last_step_is_what_it_is_compared_with():
    weight = saved = last = 0.0
    for _ in range(1000):
        weight += 0.9
        saved, last = (weight if abs(weight - last) > 1 else saved), weight
    assert saved == 0.0 and weight > 899
